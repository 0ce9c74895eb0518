"""How many of the true nearest rows a searcher finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from registry.indices.exact_search import Doubles, exact_search, pair_scores
from registry.indices.vectors import Floats

NEIGHBORS = 10
_SAMPLE = 1000
# Of the sums of one score, which need not be added in one order.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Trial:
    """Queries with the score that a row has to have to be among their nearest.

    Attributes:
        queries: (m, K) as ScaNN gets them.
        vectors: (n, K) the rows of the index, as ScaNN gets them.
        own: (m,) the row that each query is, which is left out; -1 for none.
        neighbors: k, how many nearest rows are looked for.
        least: (m,) the score of the k-th nearest row, by exact search.
        distance: `"cosine"`, `"l2"` or `"inner_product"`.
    """

    queries: Floats
    vectors: Floats
    own: npt.NDArray[np.int64]
    neighbors: int
    least: Doubles
    distance: str

    @classmethod
    def of(cls, vectors: Floats, queries: Floats | None, distance: str) -> Trial:
        """Searches exactly for the queries, or for a sample of the rows."""
        own = np.full(_SAMPLE, -1)
        if queries is None:
            own = np.random.default_rng(0).permutation(len(vectors))[:_SAMPLE]
            queries = vectors[own]
        queries = queries[:_SAMPLE]
        own = own[: len(queries)]
        k = min(NEIGHBORS, len(vectors) - int(own[0] >= 0))
        rows, scores = exact_search(
            queries, vectors, min(k + 1, len(vectors)), distance
        )
        scores[rows == own[:, None]] = -np.inf
        least = -np.sort(-scores, axis=1)[:, k - 1] if k else np.zeros(len(queries))
        return cls(queries, vectors, own, k, least, distance)

    def recall(self, searcher: Any, leaves: int | None, reorder: int | None) -> float:
        """Share of the true nearest that the searcher finds.

        A row that is as near as the last of them is one of them, whichever of the
        equally near ones exact search happens to name.
        """
        if self.neighbors == 0:
            return 1.0
        found, _ = searcher.search_batched(
            self.queries,
            final_num_neighbors=self.neighbors + 1,
            leaves_to_search=leaves,
            pre_reorder_num_neighbors=reorder,
        )
        hits = 0
        for number, near in enumerate(found):
            others = dict.fromkeys(int(row) for row in near if row != self.own[number])
            rows = np.array(list(others)[: self.neighbors], np.int64)[None]
            query = self.queries[number : number + 1]
            scores = pair_scores(query, self.vectors, rows, self.distance)
            least = self.least[number]
            hits += int((scores >= least - _ROUNDING * abs(least)).sum())
        return hits / (len(self.queries) * self.neighbors)
