"""Endless batches of training pictures, the same for the same seed."""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bct.classifier import Names
from keras_bct.counted import counted
from keras_bct.data.augmentation import Augmentation
from keras_bct.data.batch_order import BatchOrder, balanced_order, epoch_order
from keras_bct.data.decoding import decode, decode_pictures
from keras_bct.data.record_index import RecordIndex
from keras_bct.data.records import (
    ImageRecords,
    Patterns,
    read_records,
    refuse_unlabelled,
)
from keras_bct.text_column import text_column

_BATCHES_AHEAD = 4

Change = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""From float32 pictures (batch, height, width, channels) and a seed, int64 (2,)."""


def training_dataset(
    patterns: Patterns | ImageRecords | RecordIndex,
    *,
    class_names: Names,
    old_class_names: Names | Mapping[str, Names] | None = None,
    image_shape: tuple[int, int, int],
    batch_size: int,
    seed: int,
    compression: str | None = None,
    augmentation: Change | None = Augmentation(),  # noqa: B008 - frozen
    pictures_per_class: int | None = None,
    in_memory: bool = True,
    first_step: int = 0,
) -> tf.data.Dataset:
    """Make the batches that `model.fit` trains on.

    Every epoch visits each picture once, in an order of its own; a batch may end one
    epoch and begin the next, so that every batch is full. Batch i depends on the
    files, on the arguments and on i alone: iterate again and it comes again, and
    `first_step` resumes where a training stopped.

    Pictures are decoded once, into memory. A set that does not fit stays on disk with
    `in_memory=False`: an index of the files is made, and the very same batches are
    read and decoded as they are needed.

    Args:
        patterns: a TFRecord file or glob pattern, or several; see `read_records`. Or
            what was read of them already, for which `compression` and `in_memory` say
            nothing.
        class_names: the rows of the new classifier, in order, text or bytes.
        old_class_names: the rows of the old classifier; None when there is no
            predecessor. Several old classifiers: a mapping from the name of each
            one's labels, which is its output's in `compatible_model`, to its rows.
        image_shape: height, width and channels of every picture.
        batch_size: pictures a batch.
        seed: of the order and of the augmentation.
        compression: `GZIP`, or None to tell by each file's first bytes.
        augmentation: how pictures are changed: an `Augmentation`, layers put together
            by `stateless`, or any function of a batch and a seed. None leaves them
            as they are.
        pictures_per_class: class-balanced batches, of `batch_size /
            pictures_per_class` classes with as many pictures of each; see
            `balanced_order`. None: every picture as often as any other.
        in_memory: whether all pictures are decoded at once; False needs uncompressed
            files on a local disk.
        first_step: the number of the first batch.

    Returns:
        An infinite dataset of `(images, labels)`: images float32 in 0..255 of shape
        (batch_size, height, width, channels); labels a dictionary of `new`, int32
        rows of `class_names`, and `old`, int32 rows of `old_class_names` or -1 where
        it lacks the class. `old` is left out when there is no predecessor; of several
        old classifiers each has labels under its own name.

    Raises:
        FileNotFoundError: a pattern that matches no file.
        ValueError: no pictures or pictures of one class only, a label that is not in
            `class_names`, bytes that are no picture of `image_shape` (named by id),
            duplicated ids or class names, old labels named `new`, or an old
            classifier that knows no class of the pictures.
    """
    class_names = _class_names("class_names", class_names)
    old_rows = {
        name: _class_names("old_class_names", rows)
        for name, rows in _named(old_class_names).items()
    }
    for argument, names in (
        ("class_names", class_names),
        *(("old_class_names", rows) for rows in old_rows.values()),
    ):
        twice = [name for name, n in collections.Counter(names).items() if n > 1]
        if twice:
            raise ValueError(
                f"`{argument}` should name every class once. Received more than "
                f"once: {twice[0]!r}"
            )
    if batch_size < 1:
        raise ValueError(f"`batch_size` should be at least 1. Received: {batch_size}")
    if isinstance(patterns, ImageRecords | RecordIndex):
        records = patterns
    elif in_memory:
        records = read_records(patterns, camera=None, compression=compression)
    else:
        records = RecordIndex.scan(patterns, image_shape=image_shape)
    refuse_unlabelled(records.ids, records.labels)
    present = sorted(set(records.labels.tolist()))
    if len(present) < 2:
        raise ValueError(
            "Training needs pictures of at least two classes. Received: "
            f"{counted(len(records), 'picture')}, all of the class {present[0]!r}"
        )
    unknown = sorted(set(present) - set(class_names))
    if unknown:
        picture = str(records.ids[records.labels == unknown[0]][0])
        raise ValueError(
            f"Every label should be one of the {len(class_names)} `class_names`. "
            f"Received {len(unknown)} that are not, the first {unknown[0]!r} of the "
            f"picture {picture!r}"
        )
    labels = {"new": tf.constant(_rows(records.labels, class_names))}
    for name, rows in old_rows.items():
        refuse_unknown_classes(present, rows)
        labels[name] = tf.constant(_rows(records.labels, rows))
    order = (
        epoch_order(len(records), batch_size, seed)
        if pictures_per_class is None
        else balanced_order(records.labels, batch_size, pictures_per_class, seed)
    )
    steps = tf.data.Dataset.range(first_step, np.iinfo(np.int64).max // batch_size)

    def finish(
        step: tf.Tensor, rows: tf.Tensor, images: tf.Tensor
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        images = tf.cast(images, tf.float32)
        if augmentation is not None:
            images = augmentation(images, tf.stack([tf.cast(seed, tf.int64), step]))
        return images, {key: tf.gather(column, rows) for key, column in labels.items()}

    if isinstance(records, RecordIndex):
        ordered = _map(steps, order)
        images = _read_from_disk(ordered, records, image_shape, batch_size)
        batches = _map(tf.data.Dataset.zip((steps, ordered, images)), finish)
    else:
        batches = _batches_in_memory(steps, order, finish, records, image_shape)
    # The cores are at work on a step: an operation that is split among them all holds
    # that step up on each. Batches ahead are made side by side as it is.
    options = tf.data.Options()
    options.threading.max_intra_op_parallelism = 1
    # So that Keras asks for `steps_per_epoch` instead of counting on an end.
    return (
        batches.apply(
            tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        )
        .prefetch(_BATCHES_AHEAD)
        .with_options(options)
    )


def _named(
    old_class_names: Names | Mapping[str, Names] | None,
) -> Mapping[str, Names]:
    """Give the rows of every old classifier by the name of its labels."""
    if old_class_names is None:
        return {}
    if not isinstance(old_class_names, Mapping):
        return {"old": old_class_names}
    if "new" in old_class_names:
        raise ValueError(
            "`old_class_names` should not name an old classifier 'new', the name of "
            f"the new labels. Received: {', '.join(old_class_names)}"
        )
    return old_class_names


def _class_names(argument: str, names: Names) -> list[str]:
    column: list[str] = text_column(argument, names, required=True).tolist()
    return column


def refuse_unknown_classes(present: Collection[str], old: Sequence[str]) -> None:
    """Refuse training pictures of which the old classifier knows no class at all.

    Every old label would be -1 then and the influence loss 0: a training without
    compatibility that looks like one with it.

    Args:
        present: The classes of the training pictures.
        old: The classes of the old classifier.

    Raises:
        ValueError: They have none in common.
    """
    if not set(present) & set(old):
        raise ValueError(
            "`old_class_names` should name the class of some training picture: without "
            "an old label nothing ties the new model to the old one. Received: no name "
            f"in common; the pictures' first class is {min(present)!r}, the old "
            f"classifier's is {old[0]!r}. If one class is written in two ways, write "
            "it alike. If all classes are new, give the old classifier rows for them "
            "(keras_bct.classifier.synthesize; in a recipe `method: beta-sys`), or "
            "train without it (`method: independent`)."
        )


def _batches_in_memory(
    steps: tf.data.Dataset,
    order: BatchOrder,
    finish: Callable[..., Any],
    records: ImageRecords,
    image_shape: tuple[int, int, int],
) -> tf.data.Dataset:
    pictures = tf.constant(decode_pictures(records, image_shape))

    def batch(step: tf.Tensor) -> Any:
        rows = order(step)
        return finish(step, rows, tf.gather(pictures, rows))

    return _map(steps, batch)


def _read_from_disk(
    ordered: tf.data.Dataset,
    index: RecordIndex,
    image_shape: tuple[int, int, int],
    batch_size: int,
) -> tf.data.Dataset:
    """Turn batches of rows into batches of decoded pictures, uint8."""

    def fetch(rows: tf.Tensor) -> tf.Tensor:
        examples = tf.numpy_function(
            lambda wanted: np.array(index.read(wanted), object),
            [rows],
            tf.string,
            stateful=False,
        )
        examples.set_shape([batch_size])
        return examples

    def picture(example: tf.Tensor) -> tf.Tensor:
        feature = tf.io.FixedLenFeature([], tf.string)
        image = tf.io.parse_single_example(example, {"image": feature})["image"]
        return tf.ensure_shape(decode(image, image_shape[2]), image_shape)

    return _map(_map(ordered, fetch).unbatch(), picture).batch(
        batch_size, drop_remainder=True
    )


def _map(dataset: tf.data.Dataset, function: Callable[..., Any]) -> tf.data.Dataset:
    return dataset.map(
        function, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )


def _rows(labels: npt.NDArray[np.str_], names: Sequence[str]) -> npt.NDArray[np.int32]:
    row = {name: number for number, name in enumerate(names)}
    return np.array([row.get(label, -1) for label in labels.tolist()], np.int32)
