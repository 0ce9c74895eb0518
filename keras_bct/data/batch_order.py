"""Which pictures are in batch i: a function of i and the seed alone.

No permutation is stored and no state is kept, so that a training resumes anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import tensorflow as tf

BatchOrder = Callable[[tf.Tensor], tf.Tensor]
"""From a step, int64 scalar, to the rows of its pictures, int64 (batch_size,)."""

# Of the block cipher behind the permutation; TensorFlow's own choice.
_ROUNDS = 4
# Keeps the permutations of classes apart from those of pictures.
_OF_CLASSES, _OF_PICTURES = 1, 2


def epoch_order(count: int, batch_size: int, seed: int) -> BatchOrder:
    """Visit every picture once an epoch, in an order of the epoch's own.

    A batch may end one epoch and begin the next, so that every batch is full.

    Args:
        count: how many pictures there are.
        batch_size: pictures a batch.
        seed: of the order.
    """

    def rows(step: tf.Tensor) -> tf.Tensor:
        positions = step * batch_size + tf.range(batch_size, dtype=tf.int64)
        return _shuffled(
            positions % count, positions // count, seed, 0, tf.constant(count, tf.int64)
        )

    return rows


def balanced_order(
    labels: npt.NDArray[np.str_], batch_size: int, pictures_per_class: int, seed: int
) -> BatchOrder:
    """Fill every batch with as many pictures of each of its classes.

    Every class comes once an epoch of classes, in an order of the epoch's own; as
    many classes as do not fill a batch are left out of the epoch, others each time.
    Within its class every picture comes once before one comes again; a class of fewer
    pictures than `pictures_per_class` repeats some within a batch.

    Args:
        labels: str, shape (n,), the class of each picture.
        batch_size: pictures a batch.
        pictures_per_class: pictures of each class in a batch.
        seed: of the order.

    Raises:
        ValueError: `batch_size` is no multiple of `pictures_per_class`, or asks for
            more classes than there are.
    """
    names, codes = np.unique(labels, return_inverse=True)
    classes_per_batch, rest = divmod(batch_size, max(pictures_per_class, 1))
    if pictures_per_class < 1 or rest:
        raise ValueError(
            "`pictures_per_class` should divide `batch_size`, "
            f"{batch_size}. Received: {pictures_per_class}"
        )
    if classes_per_batch > len(names):
        raise ValueError(
            f"A batch of {batch_size} with `pictures_per_class` {pictures_per_class} "
            f"needs {classes_per_batch} classes. Received: {len(names)}. Take more "
            "pictures of each, or a smaller batch."
        )
    by_class = tf.constant(np.argsort(codes, kind="stable"), tf.int64)
    sizes = np.bincount(codes, minlength=len(names))
    size_of = tf.constant(sizes, tf.int64)
    start_of = tf.constant(np.cumsum(sizes) - sizes, tf.int64)
    batches = len(names) // classes_per_batch

    def rows(step: tf.Tensor) -> tf.Tensor:
        epoch = step // batches
        places = (step % batches) * classes_per_batch + tf.range(
            classes_per_batch, dtype=tf.int64
        )
        classes = _shuffled(
            places,
            tf.fill([classes_per_batch], epoch),
            seed,
            _OF_CLASSES,
            tf.constant(len(names), tf.int64),
        )
        classes = tf.repeat(classes, pictures_per_class)
        visits = epoch * pictures_per_class + tf.tile(
            tf.range(pictures_per_class, dtype=tf.int64), [classes_per_batch]
        )
        sizes = tf.gather(size_of, classes)
        # One permutation a class and round of its pictures.
        keys = (visits // sizes) * len(names) + classes
        within = _shuffled(visits % sizes, keys, seed, _OF_PICTURES, sizes)
        return tf.gather(by_class, tf.gather(start_of, classes) + within)

    return rows


def _shuffled(
    positions: tf.Tensor, keys: tf.Tensor, seed: int, use: int, counts: tf.Tensor
) -> tf.Tensor:
    """Send each position through a bijection of 0..count-1 that its key chooses."""
    # The raw op, because tf.random.experimental.index_shuffle refuses one key an
    # element.
    number = tf.size(positions)
    seeds = tf.stack(
        [
            tf.fill([number], tf.cast(seed, tf.int64)),
            keys,
            tf.fill([number], tf.cast(use, tf.int64)),
        ],
        axis=1,
    )
    return tf.raw_ops.RandomIndexShuffle(
        index=positions, seed=seeds, max_index=counts - 1, rounds=_ROUNDS
    )
