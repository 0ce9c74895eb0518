"""How many of the true nearest rows a searcher finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from registry.index_vectors import Floats

NEIGHBORS = 10
_SAMPLE = 1000


@dataclass(frozen=True)
class Trial:
    """Queries with their true nearest rows.

    Attributes:
        queries: (m, K) as ScaNN gets them.
        own: (m,) the row that each query is, which is left out; -1 for none.
        true: (m, k) the nearest rows by exact search, in no order.
    """

    queries: Floats
    own: npt.NDArray[np.int64]
    true: npt.NDArray[np.int64]

    @classmethod
    def of(cls, vectors: Floats, queries: Floats | None, distance: str) -> Trial:
        """Searches exactly, a few queries at a time."""
        own = np.full(_SAMPLE, -1)
        if queries is None:
            own = np.random.default_rng(0).permutation(len(vectors))[:_SAMPLE]
            queries = vectors[own]
        queries = queries[:_SAMPLE]
        own = own[: len(queries)]
        k = min(NEIGHBORS, len(vectors) - (own[0] >= 0))
        squares = np.square(vectors).sum(1)
        true = np.empty((len(queries), k), np.int64)
        for start in range(0, len(queries), 32):
            rows = slice(start, start + 32)
            scores = queries[rows] @ vectors.T
            if distance == "l2":
                scores = 2 * scores - squares
            block = np.arange(len(scores))
            leave_out = own[rows] >= 0
            scores[block[leave_out], own[rows][leave_out]] = -np.inf
            true[rows] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return cls(queries, own, true)

    def recall(self, searcher: Any, leaves: int | None) -> float:
        """Share of the true nearest that the searcher finds."""
        k = self.true.shape[1]
        if k == 0:
            return 1.0
        found, _ = searcher.search_batched(
            self.queries, final_num_neighbors=k + 1, leaves_to_search=leaves
        )
        hits = 0
        for rows, own, true in zip(found, self.own, self.true, strict=True):
            others = [row for row in rows if row != own][:k]
            hits += len(set(others) & set(true.tolist()))
        return hits / self.true.size
