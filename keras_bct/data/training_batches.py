"""Endless batches of training pictures, the same for the same seed."""

from __future__ import annotations

import collections
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bct.data.augmentation import Augmentation
from keras_bct.data.decoding import decode_pictures
from keras_bct.data.records import Patterns, read_records

_BATCHES_AHEAD = 4
# Of the block cipher behind the permutation; TensorFlow's own choice.
_ROUNDS = 4


def training_dataset(
    patterns: Patterns,
    *,
    class_names: Sequence[str],
    old_class_names: Sequence[str] | None = None,
    image_shape: tuple[int, int, int],
    batch_size: int,
    seed: int,
    compression: str | None = None,
    augmentation: Augmentation | None = Augmentation(),  # noqa: B008 - frozen
    first_step: int = 0,
) -> tf.data.Dataset:
    """Make the batches that `model.fit` trains on.

    Pictures are decoded once, into memory. Every epoch visits each picture once, in an
    order of its own; a batch may end one epoch and begin the next, so that every batch
    is full. Batch i depends on the files, on the arguments and on i alone: iterate
    again and it comes again, and `first_step` resumes where a training stopped.

    Args:
        patterns: a TFRecord file or glob pattern, or several; see `read_records`.
        class_names: the rows of the new classifier, in order.
        old_class_names: the rows of the old classifier; None when there is no
            predecessor.
        image_shape: height, width and channels of every picture.
        batch_size: pictures a batch.
        seed: of the order and of the augmentation.
        compression: `GZIP`, or None to tell by each file's first bytes.
        augmentation: how pictures are changed; None leaves them as they are.
        first_step: the number of the first batch.

    Returns:
        An infinite dataset of `(images, labels)`: images float32 in 0..255 of shape
        (batch_size, height, width, channels); labels a dictionary of `new`, int32
        rows of `class_names`, and `old`, int32 rows of `old_class_names` or -1 where
        it lacks the class. `old` is left out when there is no predecessor.

    Raises:
        FileNotFoundError: a pattern that matches no file.
        ValueError: no pictures or pictures of one class only, a label that is not in
            `class_names`, bytes that are no picture of `image_shape` (named by id),
            duplicated ids or class names.
    """
    for argument, names in (
        ("class_names", class_names),
        ("old_class_names", old_class_names or ()),
    ):
        twice = [name for name, n in collections.Counter(names).items() if n > 1]
        if twice:
            raise ValueError(
                f"`{argument}` should name every class once. Received more than "
                f"once: {twice[0]!r}"
            )
    if batch_size < 1:
        raise ValueError(f"`batch_size` should be at least 1. Received: {batch_size}")
    records = read_records(patterns, compression=compression)
    present = sorted(set(records.labels.tolist()))
    if len(present) < 2:
        raise ValueError(
            "Training needs pictures of at least two classes. Received: "
            f"{len(records)} pictures, all of the class {present[0]!r}"
        )
    unknown = sorted(set(present) - set(class_names))
    if unknown:
        picture = str(records.ids[records.labels == unknown[0]][0])
        raise ValueError(
            f"Every label should be one of the {len(class_names)} `class_names`. "
            f"Received {len(unknown)} that are not, the first {unknown[0]!r} of the "
            f"picture {picture!r}"
        )
    pictures = tf.constant(decode_pictures(records, image_shape))
    labels = {"new": _rows(records.labels, class_names)}
    if old_class_names is not None:
        labels["old"] = _rows(records.labels, old_class_names)
    rows = {name: tf.constant(column) for name, column in labels.items()}
    count = len(records)

    def batch(step: tf.Tensor) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        positions = step * batch_size + tf.range(batch_size, dtype=tf.int64)
        # One permutation an epoch without storing one: each picture's place in the
        # epoch goes through a bijection keyed by seed and epoch. The raw op, because
        # tf.random.experimental.index_shuffle refuses one key an element.
        key = tf.stack(
            [
                tf.fill([batch_size], tf.cast(seed, tf.int64)),
                positions // count,
                tf.zeros([batch_size], tf.int64),
            ],
            axis=1,
        )
        order = tf.raw_ops.RandomIndexShuffle(
            index=positions % count, seed=key, max_index=count - 1, rounds=_ROUNDS
        )
        images = tf.cast(tf.gather(pictures, order), tf.float32)
        if augmentation is not None:
            images = augmentation(images, tf.stack([tf.cast(seed, tf.int64), step]))
        return images, {name: tf.gather(row, order) for name, row in rows.items()}

    return (
        tf.data.Dataset.range(first_step, np.iinfo(np.int64).max // batch_size)
        .map(batch, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        # So that Keras asks for `steps_per_epoch` instead of counting on an end.
        .apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
        .prefetch(_BATCHES_AHEAD)
    )


def _rows(labels: npt.NDArray[np.str_], names: Sequence[str]) -> npt.NDArray[np.int32]:
    row = {name: number for number, name in enumerate(names)}
    return np.array([row.get(label, -1) for label in labels.tolist()], np.int32)
