"""Where each picture lies in its TFRecord file, to read it without its neighbours."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import io
import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from PIL import Image
from tqdm import tqdm

from keras_bct.data.records import Patterns, compression_of, matching_files

# A record is its length (8 bytes), a checksum (4), the data and another checksum (4).
_BEFORE_DATA, _AROUND_DATA = 12, 16
_PARSED_TOGETHER = 1024
_NAMED_IN_ERRORS = 5
_SILENT_SECONDS = 2.0


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

        Each picture's first bytes are looked at, so that one of another size is found
        before a training begins; and all of its bytes are digested while they are here,
        so that no one has to read the set again for that.

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
        ids: list[bytes] = []
        labels: list[bytes] = []
        numbers: list[int] = []
        offsets: list[npt.NDArray[np.int64]] = []
        lengths: list[npt.NDArray[np.int64]] = []
        digests: list[bytes] = []
        wrong: list[str] = []
        features = {
            name: tf.io.FixedLenFeature([], tf.string, "")
            for name in ("id", "image", "label")
        }
        with tqdm(
            total=sum(os.path.getsize(file) for file in files),
            desc="index",
            unit="B",
            unit_scale=True,
            delay=_SILENT_SECONDS,
            leave=False,
            disable=not progress,
            dynamic_ncols=True,
        ) as bar:
            for number, file in enumerate(files):
                offset, before = 0, len(ids)
                try:
                    for batch in tf.data.TFRecordDataset(file).batch(_PARSED_TOGETHER):
                        sizes = tf.strings.length(batch).numpy().astype(np.int64)
                        ends = offset + np.cumsum(sizes + _AROUND_DATA)
                        offsets.append(ends - sizes - (_AROUND_DATA - _BEFORE_DATA))
                        lengths.append(sizes)
                        bar.update(int(ends[-1]) - offset)
                        offset = int(ends[-1])
                        parsed = tf.io.parse_example(batch, features)
                        ids.extend(parsed["id"].numpy())
                        labels.extend(parsed["label"].numpy())
                        for row, image in enumerate(parsed["image"].numpy()):
                            digests.append(hashlib.sha256(image).digest())
                            complaint = _complaint(image, image_shape)
                            if complaint:
                                name = ids[len(ids) - len(sizes) + row].decode()
                                wrong.append(f"{name} ({complaint})")
                except tf.errors.OpError as error:
                    raise ValueError(
                        f"{file} should hold tf.train.Example records whose features "
                        "id, image, label are one byte string each. Received, after "
                        f"record {len(ids) - before}: {error.message}"
                    ) from error
                numbers.extend([number] * (len(ids) - before))
        cls._refuse(patterns, image_shape, ids, labels, wrong)
        return cls(
            ids=np.array([value.decode() for value in ids]),
            labels=np.array([value.decode() for value in labels]),
            files=tuple(files),
            file_numbers=np.array(numbers, np.int32),
            offsets=np.concatenate(offsets),
            lengths=np.concatenate(lengths),
            image_digests=b"".join(digests),
        )

    @staticmethod
    def _refuse(
        patterns: Patterns,
        image_shape: tuple[int, int, int],
        ids: Sequence[bytes],
        labels: Sequence[bytes],
        wrong: Sequence[str],
    ) -> None:
        if not ids:
            raise ValueError(
                f"`patterns` should lead to at least one picture. Received: {patterns}"
            )
        for name, column in (("id", ids), ("label", labels)):
            if not all(column):
                raise ValueError(
                    f"Every record should have the feature `{name}`. Received: record "
                    f"{[bool(value) for value in column].index(False)} without"
                )
        if wrong:
            raise ValueError(
                "Every picture should be a PNG or JPEG of shape (height, width, "
                f"channels) = {image_shape}. Received {len(wrong)} others, by id: "
                f"{'; '.join(wrong[:_NAMED_IN_ERRORS])}. Repair, resize or leave them "
                "out."
            )
        twice = [name for name, count in collections.Counter(ids).items() if count > 1]
        if twice:
            raise ValueError(
                "`ids` should be different for every picture. Received more than "
                f"once: {twice[0].decode()!r} and {len(twice) - 1} others"
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


def _complaint(image: bytes, image_shape: tuple[int, int, int]) -> str:
    """Say what is wrong with a picture, by its first bytes; nothing if it is right."""
    try:
        width, height = Image.open(io.BytesIO(image)).size
    except (OSError, SyntaxError):
        return "not a picture that can be decoded"
    if (height, width) != image_shape[:2]:
        return f"{height} x {width} pixels"
    return ""
