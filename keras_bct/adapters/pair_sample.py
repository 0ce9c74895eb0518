"""An even sample of a stream of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class PairSample:
    """The pairs with the lowest of random keys: an even sample of a stream.

    Of n pairs about `size (1 + log(n / size))` are copied, each once: one that is in
    the sample no more leaves its place to one that comes.

    Args:
        size: How many pairs to keep.
        source_size: Components of one side.
        target_size: Components of the other.
        seed: Of the keys.
    """

    def __init__(
        self, size: int, source_size: int, target_size: int, seed: int
    ) -> None:
        self._generator = np.random.default_rng(seed)
        # A place that no pair has taken yet is the first to be given away.
        self._keys = np.full(size, np.inf)
        self._numbers = np.zeros(size, np.int64)
        self._sides = tuple(
            np.zeros((size, components), np.float32)
            for components in (source_size, target_size)
        )
        self._limit = np.inf if size else -np.inf
        self._seen = 0

    def offer(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Take the pairs that belong to the sample so far.

        Args:
            source: `(b, source_size)`, the next rows of the stream.
            target: `(b, target_size)`.
        """
        keys = self._generator.random(len(source))
        first = self._seen
        self._seen += len(keys)
        new = np.flatnonzero(keys < self._limit)
        if not len(new):
            return
        size = len(self._keys)
        both = np.concatenate([self._keys, keys[new]])
        order = np.argpartition(both, size - 1)
        free = order[size:][order[size:] < size]
        new = new[order[:size][order[:size] >= size] - size]
        self._keys[free] = keys[new]
        self._numbers[free] = first + new
        # Rows of a wider type keep their digits.
        self._sides = tuple(
            kept.astype(np.result_type(kept, rows), copy=False)
            for kept, rows in zip(self._sides, (source, target), strict=True)
        )
        for kept, rows in zip(self._sides, (source, target), strict=True):
            kept[free] = rows[new]
        self._limit = float(both[order[size - 1]])

    def sides(self) -> tuple[Floats, Floats]:
        """Give both sides, in the order of the stream."""
        taken = np.flatnonzero(np.isfinite(self._keys))
        order = taken[np.argsort(self._numbers[taken])]
        source, target = (kept[order].astype(np.float64) for kept in self._sides)
        return source, target
