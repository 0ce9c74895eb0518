"""What a ranking must remember: the counts around each score of a relevant item."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class RankCounts:
    """Rankings of m queries, reduced to what every retrieval metric needs.

    Only the distinct scores of relevant items matter. Entries lie by query, and within
    a query from the highest score down; `offsets[i]:offsets[i + 1]` are query i's.

    Attributes:
        offsets: (m + 1,) int64.
        relevant: (entries,) int64, relevant items with this very score.
        tied: (entries,) int64, other items with this very score.
        above: (entries,) int64, other items with a higher score.

    Example:
        One query that ranks relevant, other, relevant.

        >>> counts = RankCounts.of_scores(
        ...     np.array([[0.9, 0.5, 0.1]]), np.array([[True, False, True]])
        ... )
        >>> counts.above.tolist(), counts.average_precision().round(4).tolist()
        ([0, 1], [0.8333])
    """

    offsets: Integers
    relevant: Integers
    tied: Integers
    above: Integers

    @classmethod
    def of_scores(
        cls,
        scores: npt.NDArray[np.floating[Any]],
        relevant: npt.NDArray[np.bool_],
        excluded: npt.NDArray[np.bool_] | None = None,
    ) -> RankCounts:
        """Counts a small matrix of given scores.

        Args:
            scores: (m, n) float, higher is nearer.
            relevant: (m, n) bool.
            excluded: (m, n) bool, pairs that do not exist for the query, or None.
        """
        offsets, rows = [0], []
        for i in range(len(scores)):
            kept = np.ones(scores.shape[1], bool) if excluded is None else ~excluded[i]
            positives = scores[i][relevant[i] & kept]
            others = np.sort(scores[i][~relevant[i] & kept])
            values, counts = np.unique(positives, return_counts=True)
            not_below = len(others) - np.searchsorted(others, values, side="left")
            above = len(others) - np.searchsorted(others, values, side="right")
            rows.append(np.stack([counts, not_below - above, above])[:, ::-1])
            offsets.append(offsets[-1] + len(values))
        columns = np.concatenate(rows, axis=1).astype(np.int64)
        return cls(np.array(offsets, np.int64), *columns)

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.offsets) - 1

    def best_groups(self) -> Integers:
        """(m, 3) the first entry of each query, zeros where it has none."""
        groups = np.zeros((len(self), 3), np.int64)
        has = np.flatnonzero(np.diff(self.offsets))
        entry = self.offsets[:-1][has]
        groups[has, 0] = self.relevant[entry]
        groups[has, 1] = self.tied[entry]
        groups[has, 2] = self.above[entry]
        return groups

    @property
    def query(self) -> Integers:
        """(entries,) the query of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def total_relevant(self) -> Floats:
        """(m,) R, the number of relevant items of each query."""
        return self._sum(self.relevant.astype(np.float64))

    @property
    def _found(self) -> Integers:
        """(entries,) relevant items with this score or a higher one."""
        running = np.concatenate([[0], np.cumsum(self.relevant)])
        return np.asarray(running[1:] - running[self.offsets[self.query]])

    def _sum(self, values: npt.NDArray[Any]) -> Floats:
        return np.asarray(
            np.bincount(self.query, values, minlength=len(self)), np.float64
        )

    def _over_relevant(self, values: npt.NDArray[Any], by: npt.NDArray[Any]) -> Floats:
        """The sums divided, NaN where a query has no relevant item."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.total_relevant > 0, self._sum(values) / by, np.nan)

    def _expected(self, first: Floats) -> Floats:
        """(entries,) relevant items expected among a query's `first` (m,) places.

        Within a tie every order is equally probable, so the share of a tied group that
        is cut off is the same for its relevant and its other items.
        """
        size = self.relevant + self.tied
        before = self.above + self._found - self.relevant
        places = np.clip(first[self.query] - before, 0, size)
        return np.asarray(self.relevant * places / size)

    def average_precision(self) -> Floats:
        """(m,) average precision with one threshold per distinct score.

        As scikit-learn's `average_precision_score`: the sum over thresholds of
        precision times the rise in recall. NaN without a relevant item.
        """
        found = self._found
        precision = found / (found + self.above + self.tied)
        return self._over_relevant(self.relevant * precision, self.total_relevant)

    def average_precision_at(self, first: int | None) -> Floats:
        """(m,) average precision over the first k places, or over R where k is None.

        The expected number of relevant items among those places, each with the
        precision of its score's threshold, divided by min(k, R). Equal to
        `average_precision` from k = all on.
        """
        total = self.total_relevant
        places = total if first is None else np.full(len(self), float(first))
        found = self._found
        precision = found / (found + self.above + self.tied)
        return self._over_relevant(
            self._expected(places) * precision, np.minimum(places, total)
        )

    def precision_at(self, first: int | None) -> Floats:
        """(m,) expected precision over the first k places, or over R (R-precision)."""
        total = self.total_relevant
        places = total if first is None else np.full(len(self), float(first))
        return self._over_relevant(self._expected(places), places)

    def match_at(self, first: int) -> Floats:
        """(m,) probability of a relevant item among the first k places (CMC@k).

        Only the highest score of a relevant item decides. Of its tied group
        (r relevant, n others, m places left) it is 1 - C(n, m) / C(n + r, m).
        """
        result = np.full(len(self), np.nan)
        has = np.flatnonzero(np.diff(self.offsets))
        entry = self.offsets[:-1][has]
        result[has] = match_probability(
            first, self.relevant[entry], self.tied[entry], self.above[entry]
        )
        return result

    def discounted_gain(self, first: int | None) -> Floats:
        """(m,) nDCG over the first k places (None: all), gain 1, ties averaged."""
        before = self.above + self._found - self.relevant
        size = self.relevant + self.tied
        total = self.total_relevant.astype(np.int64)
        longest = int(max((before + size).max(initial=0), total.max(initial=0)))
        discount = np.zeros(longest + 1)
        discount[1:] = np.cumsum(1 / np.log2(np.arange(2, longest + 2)))
        end = longest if first is None else min(first, longest)
        gain = (
            discount[np.minimum(before + size, end)] - discount[np.minimum(before, end)]
        )
        ideal = discount[np.minimum(total, end)]
        return self._over_relevant(self.relevant * gain / size, ideal)


def match_probability(
    first: int, relevant: Integers, tied: Integers, above: Integers
) -> Floats:
    """Probability that one of the first places shows a relevant item.

    Args:
        first: k, how many places.
        relevant: (m,) relevant items in the group of the best relevant score.
        tied: (m,) other items in that group.
        above: (m,) other items above the group.

    Returns:
        (m,) float64.
    """
    places = np.clip(first - above, 0, relevant + tied)
    miss = np.ones(len(relevant))
    # C(n, m) / C(n + r, m) is the product over i < m of (n - i) / (n + r - i).
    for i in range(int(places.max(initial=0))):
        left = np.maximum(tied - i, 0)
        ratio = left / np.maximum(left + relevant, 1)
        miss = np.where(i < places, miss * ratio, miss)
    return np.where(places > 0, 1 - miss, 0.0)
