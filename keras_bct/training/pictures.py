"""The training pictures, in memory or on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bct import data
from keras_bct.data.record_index import RecordIndex
from keras_bct.data.records import refuse_unlabelled
from keras_bct.training.recipe import Recipe


class TrainingPictures:
    """Ids and labels of the training pictures, and their bytes when asked for.

    The files are read here, once a training.

    Args:
        recipe: Says their shape, and whether the bytes are held; otherwise they are
            read when asked for.
        patterns: TFRecord patterns.
        compression: As in `read_records`.
        progress: Whether a bar is shown where reading takes long.

    Attributes:
        records: What was read.
        ids: Of each picture.
        labels: The class of each by name.

    Raises:
        FileNotFoundError: A pattern matches no file.
        ValueError: There is no picture, one without a label, or (unless they are held
            in memory, where `decoded` finds it) one that cannot be decoded to the
            recipe's shape.
    """

    def __init__(
        self,
        recipe: Recipe,
        patterns: Sequence[str],
        *,
        compression: str | None = None,
        progress: bool = True,
    ) -> None:
        self.records: data.ImageRecords | RecordIndex
        self._image_shape = recipe.image_shape
        if recipe.data is None or recipe.data.in_memory:
            self.records = data.read_records(
                patterns, camera=None, compression=compression
            )
            refuse_unlabelled(self.records.ids, self.records.labels)
        else:
            self.records = RecordIndex.scan(
                patterns, image_shape=recipe.image_shape, progress=progress
            )
        self.ids = self.records.ids
        self.labels = self.records.labels

    def __len__(self) -> int:
        """Gives their number."""
        return len(self.ids)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, sorted by name."""
        return tuple(sorted(set(self.labels.tolist())))

    def digest(self) -> str:
        """Gives the SHA-256 (hex) of ids, labels and bytes, in their order.

        It is the same in memory and on disk, and however the files are cut.
        """
        whole = hashlib.sha256()
        for column in (self.ids, self.labels):
            whole.update("\0".join(column.tolist()).encode())
        if isinstance(self.records, RecordIndex):
            whole.update(self.records.image_digests)
        else:
            for image in self.records.images:
                whole.update(hashlib.sha256(image).digest())
        return whole.hexdigest()

    def encoded(self, rows: npt.NDArray[np.int64]) -> list[bytes]:
        """Gives the encoded pictures of some rows."""
        if isinstance(self.records, RecordIndex):
            return [
                tf.train.Example.FromString(example)
                .features.feature["image"]
                .bytes_list.value[0]
                for example in self.records.read(rows)
            ]
        return [self.records.images[row] for row in rows]

    def decoded(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Gives some rows as pixels, `(rows, height, width, channels)`."""
        records = data.ImageRecords(
            self.ids[rows], self.encoded(rows), self.labels[rows]
        )
        return data.decode_pictures(records, self._image_shape)
