"""Pictures in TFRecords: one `tf.train.Example` a picture.

Features, each one byte string: `id`, `image` (PNG or JPEG), and where they are known
`label` (the class by name), `camera`, `template` and `medium`.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bct import file_patterns
from keras_bct.tables.record_end import AROUND_RECORD, refuse_rest
from keras_bct.text_column import MISSING, text_column
from keras_bct.written_whole import written_whole

_GZIP_MAGIC = b"\x1f\x8b"
_PARSED_TOGETHER = 1024
_NAMED_IN_ERRORS = 3

OPTIONAL_FEATURES = {"camera": "cameras", "template": "templates", "medium": "media"}
"""The features that may be left out, and the columns that hold them."""

Patterns = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclasses.dataclass(frozen=True, eq=False)
class ImageRecords:
    """Encoded pictures and what is known of each, in the order of the files.

    Names may be given as any column that `text_column` takes, bytes among them.

    Attributes:
        ids: str, shape (n,), no two the same.
        images: n encoded pictures (PNG or JPEG).
        labels: str, shape (n,), the class of each by name, "" where it is not known.
        cameras: str, shape (n,), or None where none is known. One that is missing is
            "", as of the columns below.
        templates: str, shape (n,), or None: the template that a picture is part of.
        media: str, shape (n,), or None: frames of one video share a medium.

    Raises:
        ValueError: the lengths differ, an id is missing, or two records have one.
    """

    ids: npt.NDArray[np.str_]
    images: list[bytes]
    labels: npt.NDArray[np.str_]
    cameras: npt.NDArray[np.str_] | None = None
    templates: npt.NDArray[np.str_] | None = None
    media: npt.NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        """Make text of the columns, and check the lengths and the ids."""
        for name in ("ids", "labels", *OPTIONAL_FEATURES.values()):
            column = getattr(self, name)
            if column is not None:
                text = text_column(name, column, required=name == "ids")
                object.__setattr__(self, name, text)
        lengths = {
            "ids": len(self.ids),
            "images": len(self.images),
            "labels": len(self.labels),
        }
        for name in OPTIONAL_FEATURES.values():
            column = getattr(self, name)
            if column is not None:
                lengths[name] = len(column)
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The columns should be equally long. Received: {lengths}")
        refuse_twice(self.ids)

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.images)


def write_records(
    path: str | os.PathLike[str],
    records: ImageRecords,
    *,
    compression: str | None = None,
) -> None:
    """Write pictures to one TFRecord file.

    Args:
        path: the file; one that is there is replaced once the new one is whole.
        records: the pictures.
        compression: `GZIP`, or None.

    >>> import tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "one.tfrecord")
    >>> one = ImageRecords(np.array(["a1"]), [b"..."], np.array(["a"]))
    >>> write_records(file, one)
    >>> read_records(file).labels
    array(['a'], dtype='<U1')
    """
    target = os.fspath(path)
    with contextlib.ExitStack() as stack:
        # An object store shows a file when it is whole, by itself.
        if "://" not in target:
            target = str(stack.enter_context(written_whole(Path(target))))
        writer = stack.enter_context(tf.io.TFRecordWriter(target, compression or ""))
        for row in range(len(records)):
            writer.write(serialise(records, row, records.images[row]))


def read_records(
    patterns: Patterns,
    *,
    id: str = "id",
    label: str = "label",
    camera: str | None = "camera",
    template: str | None = None,
    medium: str | None = None,
    image: str = "image",
    compression: str | None = None,
) -> ImageRecords:
    """Read every picture of the matching TFRecord files, in the order of their names.

    Args:
        patterns: a file or glob pattern, or several.
        id: the feature with the id.
        label: the feature with the class name.
        camera: the feature with the camera, or None.
        template: the feature with the template, or None.
        medium: the feature with the medium, or None.
        image: the feature with the encoded picture.
        compression: `GZIP`, or None to tell by each file's first bytes.

    Returns:
        The pictures; `cameras`, `templates` and `media` are None when no record has
        the feature. Where only some have it, or a label, it is "" for the others.

    Raises:
        FileNotFoundError: a pattern that matches no file.
        ValueError: no records, a file that is not TFRecord, a record without an id or
            a picture, names that are not UTF-8, or two records with one id.
    """
    optional = {"cameras": camera, "templates": template, "media": medium}
    columns = {
        "ids": id,
        "labels": label,
        **{name: feature for name, feature in optional.items() if feature is not None},
    }
    names: dict[str, list[npt.NDArray[np.str_]]] = {column: [] for column in columns}
    images: list[bytes] = []
    features = [image, *columns.values()]
    wanted = {name: tf.io.FixedLenFeature([], tf.string, "") for name in features}
    files = matching_files(patterns)
    for file in files:
        examples = tf.data.TFRecordDataset(
            file, compression or compression_of(file)
        ).batch(_PARSED_TOGETHER)
        values: dict[str, list[bytes]] = {feature: [] for feature in features}
        size = 0
        try:
            for batch in examples:
                lengths = tf.strings.length(batch).numpy()
                size += int(lengths.sum()) + AROUND_RECORD * len(lengths)
                parsed = tf.io.parse_example(batch, wanted)
                for feature in features:
                    values[feature].extend(parsed[feature].numpy())
        except tf.errors.OpError as error:
            raise ValueError(
                f"{file} should hold tf.train.Example records whose features "
                f"{', '.join(features)} are one byte string each. Received, after "
                f"record {len(values[id])}: {error.message}"
            ) from error
        try:
            refuse_rest(file, size, len(values[id]))
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
        empty = [row for row, value in enumerate(values[image]) if not value]
        if empty:
            raise ValueError(
                f"Every record of {file} should have the feature `{image}`. Received "
                f"{len(empty)} without it, the first is record {empty[0]}. Name the "
                "file's own features when they are called something else."
            )
        images += values[image]
        for column, feature in columns.items():
            names[column].append(
                names_of(file, feature, values[feature], required=column == "ids")
            )
    if not images:
        raise ValueError(
            f"`patterns` should lead to at least one picture. Received: {patterns}, "
            f"which are {len(files)} files without a record."
        )
    joined = {column: np.concatenate(parts) for column, parts in names.items()}
    for column in optional:
        if column in joined and not (joined[column] != MISSING).any():
            del joined[column]
    return ImageRecords(images=images, **joined)


def names_of(
    file: str, feature: str, values: Sequence[bytes], *, required: bool
) -> npt.NDArray[np.str_]:
    """Return a feature of all records of a file as text.

    Raises:
        ValueError: bytes that are not UTF-8, or none where they are required; the
            message names the file and the record.
    """
    try:
        return text_column(feature, values, required=required)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def refuse_twice(ids: npt.NDArray[np.str_]) -> None:
    """Refuse an id that two pictures have.

    Raises:
        ValueError: there is one.
    """
    counts = collections.Counter(ids.tolist())
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(
            "`ids` should be different for every picture. Received more than "
            f"once: {_some(twice)}. Was a file named by two patterns?"
        )


def refuse_unlabelled(ids: npt.NDArray[np.str_], labels: npt.NDArray[np.str_]) -> None:
    """Refuse to train on pictures whose class is not known.

    Raises:
        ValueError: there are some; the message names them by id.
    """
    lacking = ids[labels == MISSING].tolist()
    if lacking:
        raise ValueError(
            "Every picture should have a label to be trained on. Received "
            f"{len(lacking)} without, by id: {_some(lacking)}. Label them, or leave "
            "them out."
        )


def matching_files(patterns: Patterns) -> list[str]:
    """Return the files that patterns match, sorted, each once.

    Raises:
        FileNotFoundError: a pattern that matches no file.
    """
    if isinstance(patterns, (str, os.PathLike)):
        patterns = [patterns]
    files: set[str] = set()
    for pattern in (os.fspath(path) for path in patterns):
        files.update(
            _matching_far_away(pattern)
            if "://" in pattern
            else file_patterns.matching_files(pattern)
        )
    return sorted(files)


def _matching_far_away(pattern: str) -> list[str]:
    """Return what a URL names, for which TensorFlow has the file system."""
    if tf.io.gfile.exists(pattern):
        return [pattern]
    files: list[str] = tf.io.gfile.glob(pattern)
    if not files:
        raise FileNotFoundError(
            f"No file matches {pattern!r}. Check the URL; `*` stands for any name."
        )
    return files


def compression_of(file: str) -> str:
    """Return `GZIP` or nothing, by the first bytes of a file."""
    with tf.io.gfile.GFile(file, "rb") as opened:
        return "GZIP" if opened.read(2) == _GZIP_MAGIC else ""


def serialise(columns: Any, row: int, image: bytes) -> bytes:
    """Return one picture as a serialised `tf.train.Example`.

    Args:
        columns: `ids`, `labels` and the columns of `OPTIONAL_FEATURES`.
        row: which picture.
        image: its bytes.
    """
    features = {
        "id": str(columns.ids[row]).encode(),
        "image": image,
        "label": str(columns.labels[row]).encode(),
    }
    for name, column in OPTIONAL_FEATURES.items():
        values = getattr(columns, column)
        if values is not None:
            features[name] = str(values[row]).encode()
    serialised: bytes = tf.train.Example(
        features=tf.train.Features(
            feature={
                name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
                for name, value in features.items()
            }
        )
    ).SerializeToString()
    return serialised


def _some(names: Sequence[Any]) -> str:
    """Return the first few names, and how many there are when they are more."""
    shown = ", ".join(repr(str(name)) for name in names[:_NAMED_IN_ERRORS])
    if len(names) > _NAMED_IN_ERRORS:
        return f"{shown} and {len(names) - _NAMED_IN_ERRORS} more"
    return shown
