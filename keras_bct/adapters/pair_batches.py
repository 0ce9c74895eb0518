"""Batches of pairs for Keras, read from the arrays as they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class PairBatches(keras.utils.PyDataset):
    """Gives `(x, y)` of a batch of rows, in another order every epoch.

    Only the batch itself is in memory, so that memory-mapped embeddings may be larger.

    Args:
        rows: `(n,)` int64, the rows that take part.
        batch_size: How many make a batch; the last one may be smaller.
        make: Gives `(x, y)` for the sorted rows of a batch.
        seed: Of the orders; None keeps the rows as they stand.
    """

    def __init__(
        self,
        rows: Integers,
        batch_size: int,
        make: Callable[[Integers], tuple[Any, Any]],
        seed: int | None,
    ) -> None:
        super().__init__()
        self._rows, self._batch_size, self._make = rows, batch_size, make
        self._random = None if seed is None else np.random.default_rng(seed)
        self.on_epoch_begin()

    def __len__(self) -> int:
        """The number of batches."""
        return math.ceil(len(self._rows) / self._batch_size)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The batch with this number."""
        start = index * self._batch_size
        return self._make(np.sort(self._order[start : start + self._batch_size]))

    def on_epoch_begin(self) -> None:
        """Shuffle."""
        self._order = self._rows
        if self._random is not None:
            self._order = self._random.permutation(self._rows)
