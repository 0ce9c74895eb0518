"""An even sample of a stream of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import BLOCK_ROWS

Floats = NDArray[np.float64]


class PairSample:
    """The pairs with the lowest of random keys: an even sample of a stream.

    Args:
        size: How many pairs to keep.
        source_size: Components of one side.
        target_size: Components of the other.
    """

    def __init__(self, size: int, source_size: int, target_size: int) -> None:
        self._size = size
        self._limit = np.inf if size else 0.0
        # Room for as many again, so that only one block in many has to make room.
        room = 2 * size + BLOCK_ROWS if size else 0
        self._keys = np.empty(room)
        self._sides = (np.empty((room, source_size)), np.empty((room, target_size)))
        self._filled = 0

    def offer(self, keys: Floats, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Take the pairs of a block that belong to the sample so far.

        Args:
            keys: `(b,)` random numbers, b at most `BLOCK_ROWS`.
            source: `(b, source_size)`.
            target: `(b, target_size)`.
        """
        low = np.flatnonzero(keys < self._limit)
        if not len(low):
            return
        if self._filled + len(low) > len(self._keys):
            self._make_room()
        place = slice(self._filled, self._filled + len(low))
        self._keys[place] = keys[low]
        self._sides[0][place] = source[low]
        self._sides[1][place] = target[low]
        self._filled = place.stop

    def sides(self) -> tuple[Floats, Floats]:
        """Give both sides, in the order of the stream."""
        if self._filled > self._size:
            self._make_room()
        return self._sides[0][: self._filled], self._sides[1][: self._filled]

    def _make_room(self) -> None:
        keys = self._keys[: self._filled]
        kept = np.sort(np.argsort(keys, kind="stable")[: self._size])
        for rows in (self._keys, *self._sides):
            rows[: len(kept)] = rows[kept]
        self._filled = len(kept)
        self._limit = float(self._keys[: self._filled].max())
