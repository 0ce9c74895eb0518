"""Lists of pictures to TFRecord files, one picture in memory at a time."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf

from keras_bct.data.image_list import ImageList, Prepare
from keras_bct.data.own_size import OwnSize
from keras_bct.data.records import serialise
from keras_bct.progress import progress_bar

_PREPARED_TOGETHER = 256


def write_shards(
    directory: str | os.PathLike[str],
    name: str,
    images: ImageList,
    *,
    preparation: Prepare | None = OwnSize(),  # noqa: B008 - frozen
    shards: int = 1,
    skip_unreadable: bool = False,
    progress: bool = True,
) -> list[pathlib.Path]:
    """Write pictures to `NAME.tfrecord`, or to `NAME-00000-of-00008.tfrecord` ff.

    Pictures are read, prepared and encoded on every core. A file gets its name when it
    is whole, so that what a stopped run leaves is not taken for a set.

    Args:
        directory: made when it is not there.
        name: what the files are named after.
        images: the pictures.
        preparation: a `Preparation`, which brings them to one size, or `OwnSize`; None:
            the bytes as they are.
        shards: how many files.
        skip_unreadable: leave out pictures that cannot be read or decoded, each with
            a line on standard error, where otherwise the first one is an error.
        progress: whether a bar is shown when it takes longer than two seconds.

    Returns:
        The files, in the order of the pictures.

    Raises:
        FileNotFoundError: a picture that is not there.
        ValueError: one that cannot be decoded; the message names id and file. Or
            more shards than pictures.
    """
    if not 1 <= shards <= len(images):
        raise ValueError(
            f"`shards` should be from 1 to {len(images)}, the number of pictures. "
            f"Received: {shards}"
        )
    folder = pathlib.Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    names = (
        [f"{name}.tfrecord"]
        if shards == 1
        else [f"{name}-{n:05d}-of-{shards:05d}.tfrecord" for n in range(shards)]
    )
    written = []
    with (
        ThreadPoolExecutor(os.cpu_count()) as workers,
        progress_bar(len(images), name, "picture", progress) as bar,
    ):
        for number, file in enumerate(names):
            rows = range(
                len(images) * number // shards, len(images) * (number + 1) // shards
            )
            partial = folder / f"{file}.part"
            with tf.io.TFRecordWriter(os.fspath(partial)) as writer:
                for row, image in _prepared(
                    images, rows, preparation, skip_unreadable, workers
                ):
                    if image is not None:
                        writer.write(serialise(images, row, image))
                    bar.update()
            partial.replace(folder / file)
            written.append(folder / file)
    return written


def _prepared(
    images: ImageList,
    rows: range,
    preparation: Prepare | None,
    skip_unreadable: bool,
    workers: ThreadPoolExecutor,
) -> Iterator[tuple[int, bytes | None]]:
    """Yield each row with its picture, or with None if it cannot be read."""

    def prepare(row: int) -> bytes | None:
        try:
            return images.prepared(row, preparation)
        except (ValueError, OSError) as error:
            if not skip_unreadable:
                raise
            print(f"left out: {error}", file=sys.stderr)
            return None

    for start in range(rows.start, rows.stop, _PREPARED_TOGETHER):
        chunk = range(start, min(start + _PREPARED_TOGETHER, rows.stop))
        yield from zip(chunk, workers.map(prepare, chunk), strict=True)
