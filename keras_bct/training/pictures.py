"""The training pictures, in memory or on disk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bct import data
from keras_bct.data.record_index import RecordIndex


class TrainingPictures:
    """Ids and labels of the training pictures, and their bytes when asked for.

    Args:
        patterns: TFRecord patterns.
        image_shape: Height, width and channels.
        compression: As in `read_records`.
        in_memory: Whether the bytes are held; otherwise they are read when asked for.

    Raises:
        FileNotFoundError: A pattern matches no file.
        ValueError: There is no picture, or one of a wrong size.
    """

    def __init__(
        self,
        patterns: Sequence[str],
        image_shape: tuple[int, int, int],
        *,
        compression: str | None = None,
        in_memory: bool = True,
    ) -> None:
        self._records: data.ImageRecords | RecordIndex
        if in_memory:
            self._records = data.read_records(
                patterns, camera=None, compression=compression
            )
        else:
            self._records = RecordIndex.scan(patterns, image_shape=image_shape)
        self.ids = self._records.ids
        self.labels = self._records.labels
        self._image_shape = image_shape

    def __len__(self) -> int:
        """Gives their number."""
        return len(self.ids)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, sorted by name."""
        return tuple(sorted(set(self.labels.tolist())))

    def encoded(self, rows: npt.NDArray[np.int64]) -> list[bytes]:
        """Gives the encoded pictures of some rows."""
        if isinstance(self._records, RecordIndex):
            return [
                tf.train.Example.FromString(example)
                .features.feature["image"]
                .bytes_list.value[0]
                for example in self._records.read(rows)
            ]
        return [self._records.images[row] for row in rows]

    def decoded(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Gives some rows as pixels, `(rows, height, width, channels)`."""
        records = data.ImageRecords(
            self.ids[rows], self.encoded(rows), self.labels[rows]
        )
        return data.decode_pictures(records, self._image_shape)
