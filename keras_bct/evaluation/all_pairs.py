"""Verification of every query with every gallery item, without holding the scores.

A small sample of queries tells roughly where the thresholds lie. One pass over all
pairs then counts every score on a grid, and keeps the pairs around the thresholds and
the tail that the bootstrap needs; their exact scores give the exact thresholds. Where
the sample was wrong, the counts tell where to look, and a second pass finds it.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.acceptance import (
    GenuineScores,
    ImpostorTail,
    allowed_above,
    depth_for,
)
from keras_bct.evaluation.block_pass import (
    BLOCK_ROWS,
    Consumer,
    Execution,
    run_blocks,
    run_pass,
)
from keras_bct.evaluation.embedding_set import EmbeddingSet
from keras_bct.evaluation.impostor_pass import (
    COUNTED,
    KEPT,
    SAMPLED,
    GenuinePass,
    ImpostorPass,
    KeptPairs,
    ScoreGrid,
    TiedPass,
)
from keras_bct.evaluation.relevance import Relevance
from keras_bct.evaluation.scoring import Scoring
from keras_bct.evaluation.verification import (
    AllPairCounts,
    ScoreHistogram,
    VerificationStatistics,
    equal_error_rate,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Pairs of a tail. A deeper tail is sampled: a million scores place a threshold within a
# thousandth of its rank, which is little beside what the draw of identities moves it.
MOST_PAIRS = 2**20
# Pairs around a threshold whose tail is sampled, at most on each side, and as a share
# of its rank: the sample that places the window draws some 300 queries.
_WINDOW_PAIRS = 2**21
_WINDOW_SHARE = 0.15
# Genuine pairs that are held, 20 bytes each. Of more, which only few large classes
# have, a sample is held for the bootstrap, and the asked shares are counted.
MOST_GENUINE = 2**25
_BUCKETS = 8192
_SAMPLE_BUCKETS = 65536
_SAMPLE_PAIRS = 2**24
# What the sample may be wrong by before a second pass is needed.
_SLACK = 1.25


@dataclasses.dataclass(frozen=True, eq=False)
class _Plan:
    grid: ScoreGrid
    keep: npt.NDArray[np.uint8]
    sampled_share: float


@dataclasses.dataclass(frozen=True, eq=False)
class _Counted:
    """A finished pass: the histogram and the kept pairs."""

    grid: ScoreGrid
    keep: npt.NDArray[np.uint8]
    above: Integers
    pairs: KeptPairs
    scoring: Scoring

    @classmethod
    def of(
        cls, done: ImpostorPass, plan: _Plan, scoring: Scoring, total: int
    ) -> _Counted:
        histogram = done.histogram(total)
        pairs = done.kept()
        keep = plan.keep.copy()
        # What is empty is held as well.
        keep[histogram == 0] = KEPT
        # Scores from a bucket's lower end up; behind the last bucket there are none.
        above = np.append(np.cumsum(histogram[::-1])[::-1], 0)
        return cls(plan.grid, keep, above, pairs, scoring)

    def bucket_of_rank(self, rank: int) -> int:
        """The bucket of the score that `rank` others precede."""
        return int(np.flatnonzero(self.above > rank)[-1])

    def holds(self, first: int, last: int) -> bool:
        """Whether all scores of some buckets are at hand."""
        return bool((self.keep[first : last + 1] == KEPT).all())

    def within(self, first: int, last: int) -> Floats:
        """The exact scores of some buckets, descending."""
        chosen = (self.pairs.buckets >= first) & (self.pairs.buckets <= last)
        return -np.sort(-self.exact(chosen))

    def exact(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """The exact scores of chosen kept pairs."""
        rows, columns = self.pairs.rows[chosen], self.pairs.columns[chosen]
        return self.scoring.exact(rows.astype(np.int64), columns.astype(np.int64))


class AllPairs:
    """All-pairs verification as consumers of a pass.

    Use: run a pass over `consumers`, then `finish`.
    """

    def __init__(
        self,
        scoring: Scoring,
        relevance: Relevance,
        queries: EmbeddingSet,
        gallery: EmbeddingSet,
        rates: Sequence[float],
        equal_error: bool,
        seed: int,
        execution: Execution,
    ) -> None:
        """Plans from a sample of the queries what the pass has to keep.

        Args:
            scoring: Scores the pairs.
            relevance: Tells genuine pairs from impostors.
            queries: m items; their ids draw the sample, whatever their order.
            gallery: n items; likewise.
            rates: The FARs asked for.
            equal_error: Whether the equal error rate is asked for.
            seed: Of the samples.
            execution: How the work is done.
        """
        self._scoring, self._relevance = scoring, relevance
        self._rates = tuple(sorted(set(rates)))
        self._equal_error = equal_error
        self._execution = execution
        self._total = relevance.impostors()
        self._keys = (_keys(queries, seed), _keys(gallery, seed + 1))
        self._tolerance = scoring.slope * float(scoring.tolerance.max())
        self._plan = self._make_plan(seed)
        self._genuine_total = int(relevance.kept_members.sum())
        self._genuine = GenuinePass(
            self._keys, min(1.0, MOST_GENUINE / self._genuine_total)
        )
        self._impostors = self._pass(self._plan)

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """What the pass has to feed."""
        return (self._genuine, self._impostors)

    def finish(self) -> VerificationStatistics:
        """Finds the exact thresholds, by a further pass where one was missed."""
        relevance = self._relevance
        counted = _Counted.of(self._impostors, self._plan, self._scoring, self._total)
        scores, rows = self._genuine.pairs()
        genuine = GenuineScores(
            scores,
            relevance.query_codes[rows].astype(np.int32),
            np.ones(len(scores)),
        )
        thresholds = {
            rate: self._find(counted, allowed_above(rate, self._total))
            for rate in self._rates
        }
        shares = {rate: genuine.share_above(thresholds[rate]) for rate in self._rates}
        if len(scores) < self._genuine_total:
            shares = self._count_accepted(thresholds)
        needs = {rate: allowed_above(rate, self._total) for rate in self._rates}
        error = None
        if self._equal_error:
            error, rank = self._find_equal_error(counted, -np.sort(-scores))
            needs[math.nan] = rank
        identities = len(relevance.identities)
        pairs = AllPairCounts(
            np.bincount(relevance.query_codes, minlength=identities),
            np.bincount(relevance.gallery_codes, minlength=identities),
        )
        tails = self._tails(counted, needs)
        return VerificationStatistics(
            relevance.identities,
            genuine,
            {rate: tails[rate] for rate in self._rates},
            thresholds,
            shares,
            self._genuine_total,
            pairs,
            error,
            tails.get(math.nan),
            ScoreHistogram(counted.grid.edges, counted.above[:-1]),
            self._scoring.to_distance,
        )

    def _pass(self, plan: _Plan) -> ImpostorPass:
        return ImpostorPass(
            self._scoring, plan.grid, plan.keep, plan.sampled_share, self._keys
        )

    def _make_plan(self, seed: int) -> _Plan:
        low, high = self._scoring.bounds
        pad = 4 * self._tolerance
        if self._total <= MOST_PAIRS:
            grid = ScoreGrid.over(low - pad, high + pad, _BUCKETS)
            keep = np.full(_BUCKETS, KEPT, np.uint8)
            keep[0] = COUNTED
            return _Plan(grid, keep, 1.0)
        edges, above, genuine = self._sample(seed)
        # Room for what the sample did not see, within what is possible.
        room = (edges[-1] - edges[0]) / 4
        grid = ScoreGrid.over(
            max(low - pad, edges[0] - room), min(high + pad, edges[-1] + room), _BUCKETS
        )
        # Estimated scores from each bucket's lower end up, and from its upper end up.
        lower = np.interp(grid.edges, edges, above, left=self._total, right=0)
        upper = np.append(lower[1:], 0)
        ranks = [allowed_above(rate, self._total) for rate in self._rates]
        if self._equal_error:
            far = np.interp(genuine, edges, above) / self._total
            refused = np.arange(len(far)) / len(far)
            ranks.append(int(far[np.argmax(refused >= far)] * self._total))
        keep = np.full(_BUCKETS, COUNTED, np.uint8)
        depths = [depth_for(rank) for rank in ranks]
        deepest = min(max(depths), self._total)
        keep[upper < _SLACK * deepest] = SAMPLED
        held = [depth for depth in depths if _SLACK * depth <= MOST_PAIRS]
        if held:
            # Not a bucket whose ties alone would fill the memory.
            keep[(upper < _SLACK * max(held)) & (lower < 2 * MOST_PAIRS)] = KEPT
        for rank, depth in zip(ranks, depths, strict=True):
            if depth not in held:
                reach = min(_WINDOW_SHARE * rank, _WINDOW_PAIRS)
                near = (lower >= rank - reach) & (upper <= rank + reach)
                if near.any() and lower[near].max() - upper[near].min() < 4 * reach:
                    keep[near] = KEPT
        keep[0] = COUNTED
        return _Plan(grid, keep, min(1.0, MOST_PAIRS / deepest))

    def _sample(self, seed: int) -> tuple[Floats, Floats, Floats]:
        """Estimates the impostor scores' distribution from some queries.

        Returns:
            Edges, ascending; the estimated number of impostors above each; the
            genuine scores of these queries, ascending.
        """
        queries = len(self._scoring.left)
        wanted = -(-_SAMPLE_PAIRS // len(self._scoring.right))
        rows = np.random.default_rng(seed).choice(
            queries, min(queries, max(wanted, 64)), replace=False
        )
        rows.sort()
        scoring = self._scoring.take_queries(rows)
        relevance = self._relevance.take_queries(rows)
        quiet = dataclasses.replace(self._execution, progress=False)
        low, high = self._scoring.bounds
        while True:
            grid = ScoreGrid.over(low, high, _SAMPLE_BUCKETS)
            keep = np.full(_SAMPLE_BUCKETS, COUNTED, np.uint8)
            keys = (self._keys[0][rows], self._keys[1])
            impostors = ImpostorPass(scoring, grid, keep, 0.0, keys)
            genuine = GenuinePass(keys)
            run_pass(scoring, relevance, (genuine, impostors), quiet, "sampling")
            total = relevance.impostors()
            histogram = impostors.histogram(total)
            seen = np.flatnonzero(histogram)
            first, last = max(int(seen[0]), 1), int(seen[-1])
            narrow = last - first < _SAMPLE_BUCKETS // 8
            if not narrow or (last - first) * grid.width < 64 * self._tolerance:
                break
            low, high = (
                grid.edges[first],
                grid.edges[first] + grid.width * (last - first + 1),
            )
        edges = grid.edges[first : last + 1]
        edges = np.append(edges, edges[-1] + grid.width)
        counts = np.append(np.cumsum(histogram[::-1])[::-1][first : last + 1], 0)
        return edges, counts * (self._total / total), np.sort(genuine.pairs()[0])

    def _margin(self, grid: ScoreGrid) -> int:
        """Buckets that a score's exact place may be away from its product's."""
        return math.ceil(2 * self._tolerance / grid.width) + 1

    def _find(self, counted: _Counted, rank: int) -> float:
        """The exact impostor score that `rank` others precede."""
        if rank >= self._total:
            return -np.inf
        counted, first, last = self._look(counted, lambda c: c.bucket_of_rank(rank))
        if counted.holds(first, last):
            left = rank - int(counted.above[last + 1])
            return float(counted.within(first, last)[left])
        return self._find_tied(counted, first, last, lambda _, n: n > rank)[0]

    def _find_equal_error(
        self, counted: _Counted, genuine: Floats
    ) -> tuple[float, int]:
        """The exact equal error rate, and how many impostors are accepted there."""
        ascending = genuine[::-1]

        def refused(scores: Floats) -> Floats:
            return np.searchsorted(ascending, scores, side="left") / len(genuine)

        def locate(counted: _Counted) -> int:
            far = counted.above[:-1] / self._total
            return int(np.flatnonzero(far >= refused(counted.grid.edges))[-1])

        counted, first, last = self._look(counted, locate)
        edges = counted.grid.edges
        if counted.holds(first, last):
            top = edges[last + 1] if last + 1 < len(edges) else np.inf
            bottom = edges[first]
            before = int(counted.above[last + 1])
            impostors = counted.within(first, last)
        else:
            bottom, before, upto, top = self._find_tied(
                counted, first, last, lambda s, n: n / self._total >= refused(s)
            )
            impostors = np.full(upto - before, bottom)
        near = genuine[(genuine >= bottom) & (genuine < top)]
        scores = np.unique(np.concatenate([impostors, near]))[::-1]
        accepted = before + np.searchsorted(-impostors, -scores, side="right")
        frr = refused(scores)
        start = np.searchsorted(ascending, scores[0], side="right") / len(genuine)
        far = np.append(before, accepted) / self._total
        error = equal_error_rate(far, np.append(start, frr))
        return error, int(error * self._total)

    def _look(
        self, counted: _Counted, locate: Callable[[_Counted], int]
    ) -> tuple[_Counted, int, int]:
        """Makes sure that all scores around a place are at hand.

        Args:
            counted: A finished pass.
            locate: Gives the bucket of the place looked for.

        Returns:
            A pass, and the first and last of its buckets that matter: it holds them,
            unless there are too many of them in a range too narrow for float32.
        """
        while True:
            grid = counted.grid
            margin = math.ceil(2 * self._tolerance / grid.width) + 1
            bucket = locate(counted)
            first, last = (
                max(bucket - margin, 0),
                min(bucket + margin, grid.buckets - 1),
            )
            if counted.holds(first, last):
                return counted, first, last
            count = int(counted.above[first] - counted.above[last + 1])
            inside = first > 0 and last + 1 < grid.buckets
            if inside and count > MOST_PAIRS and grid.width < 4 * self._tolerance:
                return counted, first, last
            keep = np.full(grid.buckets, COUNTED, np.uint8)
            if inside and count <= MOST_PAIRS:
                keep[first : last + 1] = KEPT
            else:
                low, high = self._scoring.bounds
                pad = 4 * self._tolerance
                grid = ScoreGrid.over(
                    grid.edges[first] if first > 0 else low - pad,
                    grid.edges[last + 1] if last + 1 < grid.buckets else high + pad,
                    _BUCKETS,
                )
            counted = self._count(_Plan(grid, keep, 0.0))

    def _count_accepted(self, thresholds: Mapping[float, float]) -> dict[float, float]:
        """The exact share of all genuine pairs above each threshold."""
        counts = dict.fromkeys(thresholds, 0)
        lock = threading.Lock()

        def work(rows: slice, stop: threading.Event) -> None:
            members = self._relevance.members(rows)
            scores = self._scoring.exact(
                members.rows[members.kept] + rows.start, members.columns[members.kept]
            )
            for rate, threshold in thresholds.items():
                accepted = int(np.count_nonzero(scores > threshold))
                with lock:
                    counts[rate] += accepted

        run_blocks(
            len(self._scoring.left), BLOCK_ROWS, work, self._execution, "genuine pairs"
        )
        return {rate: count / self._genuine_total for rate, count in counts.items()}

    def _count(self, plan: _Plan) -> _Counted:
        again = self._pass(plan)
        run_pass(
            self._scoring, self._relevance, (again,), self._execution, "thresholds"
        )
        return _Counted.of(again, plan, self._scoring, self._total)

    def _find_tied(
        self,
        counted: _Counted,
        first: int,
        last: int,
        reached: Callable[[Floats, Integers], npt.NDArray[np.bool_]],
    ) -> tuple[float, int, int, float]:
        """Finds a score among more ties, or near ties, than memory holds.

        Counts exact scores on ever finer grids, until a place is a single score.

        Args:
            counted: A finished pass.
            first: The first of its buckets that matter.
            last: The last of them.
            reached: Of scores, descending, and how many impostors there are from each
                up: whether the score looked for is reached.

        Returns:
            The highest impostor score that is reached, how many impostors lie above
            it and from it up, and the next higher impostor score (infinity: none).
        """
        keep = np.full(counted.grid.buckets, COUNTED, np.uint8)
        keep[first : last + 1] = KEPT
        above, higher = int(counted.above[last + 1]), np.inf
        low, high = -np.inf, np.inf
        while True:
            tied = TiedPass(self._scoring, counted.grid, keep, self._keys, low, high)
            run_pass(
                self._scoring, self._relevance, (tied,), self._execution, "thresholds"
            )
            counts, least, most = tied.places()
            from_here = above + np.cumsum(counts)
            hits = np.flatnonzero(reached(least, from_here))
            place = int(hits[0]) if len(hits) else len(counts) - 1
            if place > 0:
                above, higher = int(from_here[place - 1]), float(least[place - 1])
            low, high = float(least[place]), float(most[place])
            if low == high:
                return low, above, int(from_here[place]), higher

    def _tails(
        self, counted: _Counted, needs: Mapping[float, int]
    ) -> dict[float, ImpostorTail]:
        """The tail for each rate: all of it where it is deep enough, else a sample."""
        pairs = counted.pairs
        not_kept = np.flatnonzero(counted.keep != KEPT)
        start = int(not_kept[-1]) + 1 if len(not_kept) else 0
        whole = self._tail(counted, pairs.buckets >= start, 1.0)
        result = {}
        sample = None
        for rate, rank in needs.items():
            deep = int(counted.above[start])
            if deep == self._total or deep >= rank + 0.8 * (depth_for(rank) - rank):
                result[rate] = whole
                continue
            if sample is None:
                sample = self._tail(counted, pairs.sampled, self._plan.sampled_share)
            result[rate] = sample
        return result

    def _tail(
        self, counted: _Counted, chosen: npt.NDArray[np.bool_], kept: float
    ) -> ImpostorTail:
        pairs, relevance = counted.pairs, self._relevance
        return ImpostorTail.sort(
            counted.exact(chosen),
            relevance.query_codes[pairs.rows[chosen]].astype(np.int32),
            relevance.gallery_codes[pairs.columns[chosen]].astype(np.int32),
            kept,
            kept == 1 and int(chosen.sum()) == self._total,
        )


def _keys(items: EmbeddingSet, seed: int) -> Integers:
    """A random 32-bit key for each item that goes with its id, not with its place."""
    order = np.argsort(items.ids, kind="stable")
    keys = np.empty(len(items), np.int64)
    keys[order] = np.random.default_rng(seed).integers(0, 2**32, len(items))
    return keys
