"""Where each picture lies in its TFRecord file, to read it without its neighbours."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import weakref
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bct.data.decoding import refusal, wrong_pictures
from keras_bct.data.records import (
    Patterns,
    compression_of,
    matching_files,
    names_of,
    refuse_twice,
    refuse_unlabelled,
)
from keras_bct.progress import progress_bar
from keras_bct.tables.record_end import AROUND_RECORD, refuse_rest

# A record is its length (8 bytes), a checksum (4), the data and another checksum (4).
_BEFORE_DATA = 12
_PARSED_TOGETHER = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class RecordIndex:
    """The ids, labels and places of n pictures that stay on disk.

    Attributes:
        ids: str, shape (n,), no two the same.
        labels: str, shape (n,), the class of each by name.
        files: the TFRecord files.
        file_numbers: int32, shape (n,), into `files`.
        offsets: int64, shape (n,), where each serialised example begins.
        lengths: int64, shape (n,), its bytes.
        image_digests: SHA-256 of the encoded picture of each, one after the other.
    """

    ids: npt.NDArray[np.str_]
    labels: npt.NDArray[np.str_]
    files: tuple[str, ...]
    file_numbers: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    image_digests: bytes
    _opened: list[io.FileIO] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Open the files, before the many threads that read come for them."""
        opened = [io.FileIO(file) for file in self.files]
        object.__setattr__(self, "_opened", opened)
        weakref.finalize(self, _close, opened)

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.ids)

    @classmethod
    def scan(
        cls,
        patterns: Patterns,
        *,
        image_shape: tuple[int, int, int],
        progress: bool = True,
    ) -> RecordIndex:
        """Read every file once, from its beginning to its end.

        Each picture is decoded once, so that one that training cannot take is found
        before it begins; and all of its bytes are digested while they are here, so that
        no one has to read the set again for that.

        Args:
            patterns: a TFRecord file or glob pattern, or several, on a local disk.
            image_shape: height, width and channels of every picture; grey and colour
                pictures are turned into each other.
            progress: whether a bar is shown when it takes longer than two seconds.

        Raises:
            FileNotFoundError: a pattern that matches no file.
            ValueError: a compressed file, one that holds no such records, a picture
                of another size or bytes that are none (by id), or an id twice.
        """
        files = matching_files(patterns)
        for file in files:
            if "://" in file or compression_of(file):
                raise ValueError(
                    "Pictures that stay on disk should be in TFRecord files on a "
                    f"local disk, without compression. Received: {file}. Copy or "
                    "unpack it there, or read the set into memory."
                )
        ids: list[npt.NDArray[np.str_]] = []
        labels: list[npt.NDArray[np.str_]] = []
        numbers: list[npt.NDArray[np.int32]] = []
        offsets: list[npt.NDArray[np.int64]] = []
        lengths: list[npt.NDArray[np.int64]] = []
        digests: list[bytes] = []
        wrong: list[str] = []
        features = {
            name: tf.io.FixedLenFeature([], tf.string, "")
            for name in ("id", "image", "label")
        }
        with progress_bar(
            sum(os.path.getsize(file) for file in files), "index", "B", progress
        ) as bar:
            for number, file in enumerate(files):
                offset = 0
                names: dict[str, list[bytes]] = {"id": [], "label": []}
                try:
                    for batch in tf.data.TFRecordDataset(file).batch(_PARSED_TOGETHER):
                        sizes = tf.strings.length(batch).numpy().astype(np.int64)
                        ends = offset + np.cumsum(sizes + AROUND_RECORD)
                        offsets.append(ends - sizes - (AROUND_RECORD - _BEFORE_DATA))
                        lengths.append(sizes)
                        bar.update(int(ends[-1]) - offset)
                        offset = int(ends[-1])
                        parsed = tf.io.parse_example(batch, features)
                        for name, values in names.items():
                            values.extend(parsed[name].numpy())
                        images = parsed["image"].numpy().tolist()
                        digests.extend(hashlib.sha256(i).digest() for i in images)
                        theirs = names["id"][-len(images) :]
                        wrong += wrong_pictures(
                            [name.decode(errors="replace") for name in theirs],
                            images,
                            image_shape,
                        )
                except tf.errors.OpError as error:
                    raise ValueError(
                        f"{file} should hold tf.train.Example records whose features "
                        "id, image, label are one byte string each. Received, after "
                        f"record {len(names['id'])}: {error.message}"
                    ) from error
                try:
                    refuse_rest(file, offset, len(names["id"]))
                except ValueError as error:
                    raise ValueError(f"{file}: {error}") from error
                ids.append(names_of(file, "id", names["id"], required=True))
                labels.append(names_of(file, "label", names["label"], required=False))
                numbers.append(np.full(len(names["id"]), number, np.int32))
        if not offsets:
            raise ValueError(
                f"`patterns` should lead to at least one picture. Received: {patterns}"
            )
        if wrong:
            raise refusal(wrong, image_shape)
        all_ids, all_labels = np.concatenate(ids), np.concatenate(labels)
        refuse_twice(all_ids)
        refuse_unlabelled(all_ids, all_labels)
        return cls(
            ids=all_ids,
            labels=all_labels,
            files=tuple(files),
            file_numbers=np.concatenate(numbers),
            offsets=np.concatenate(offsets),
            lengths=np.concatenate(lengths),
            image_digests=b"".join(digests),
        )

    def read(self, rows: npt.NDArray[np.int64]) -> list[bytes]:
        """Read the serialised examples of some pictures; safe from many threads."""
        return [
            os.pread(
                self._opened[int(self.file_numbers[row])].fileno(),
                int(self.lengths[row]),
                int(self.offsets[row]),
            )
            for row in rows
        ]


def _close(files: Iterable[io.FileIO]) -> None:
    for file in files:
        file.close()
