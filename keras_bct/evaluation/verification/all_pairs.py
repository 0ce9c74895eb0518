"""Verification of every query with every gallery item, without holding the scores.

A small sample of queries tells roughly where the thresholds lie. One pass over all
pairs then counts every score on a grid, and keeps the pairs around the thresholds and
the tail that the bootstrap needs; their exact scores give the exact thresholds. Where
the sample was wrong, the counts tell where to look, and a second pass finds it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import (
    BLOCK_ROWS,
    Consumer,
    Execution,
    run_blocks,
)
from keras_bct.evaluation.engine.impostor_pass import KEPT, GenuinePass
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.relevance import Relevance
from keras_bct.evaluation.verification.acceptance import (
    GenuineScores,
    ImpostorTail,
    allowed_above,
    depth_for,
)
from keras_bct.evaluation.verification.impostor_counts import ImpostorCounts
from keras_bct.evaluation.verification.sampled_plan import plan_pass
from keras_bct.evaluation.verification.scored_pairs import (
    PairLimits,
    ScoredPairs,
    random_keys,
)
from keras_bct.evaluation.verification.threshold_search import ThresholdSearch
from keras_bct.evaluation.verification.verification import (
    AllPairCounts,
    ScoreHistogram,
    VerificationStatistics,
)

LIMITS = PairLimits()
"""How many pairs a measurement holds."""


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
        self._rates = tuple(sorted(set(rates)))
        self._equal_error = equal_error
        self._pairs = ScoredPairs(
            scoring,
            relevance,
            (random_keys(queries, seed), random_keys(gallery, seed + 1)),
            execution,
            LIMITS,
        )
        self._plan = plan_pass(self._pairs, self._rates, equal_error, seed)
        self._genuine_total = int(relevance.kept_members.sum())
        self._genuine = GenuinePass(
            self._pairs.keys, min(1.0, LIMITS.genuine / self._genuine_total)
        )
        self._impostors = self._plan.impostor_pass(self._pairs)

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """What the pass has to feed."""
        return (self._genuine, self._impostors)

    def finish(self) -> VerificationStatistics:
        """Finds the exact thresholds, by a further pass where one was missed."""
        relevance, total = self._pairs.relevance, self._pairs.impostors
        counted = ImpostorCounts.of(self._impostors, self._plan, self._pairs)
        search = ThresholdSearch(self._pairs)
        scores, rows = self._genuine.pairs()
        genuine = GenuineScores(
            scores,
            relevance.query_codes[rows].astype(np.int32),
            np.ones(len(scores)),
        )
        thresholds = {
            rate: search.score_at(counted, allowed_above(rate, total))
            for rate in self._rates
        }
        shares = {rate: genuine.share_above(thresholds[rate]) for rate in self._rates}
        if len(scores) < self._genuine_total:
            shares = self._count_accepted(thresholds)
        needs = {rate: allowed_above(rate, total) for rate in self._rates}
        error = None
        if self._equal_error:
            error, rank = search.equal_error(counted, -np.sort(-scores))
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
            self._pairs.scoring.to_distance,
        )

    def _count_accepted(self, thresholds: Mapping[float, float]) -> dict[float, float]:
        """The exact share of all genuine pairs above each threshold."""
        counts = dict.fromkeys(thresholds, 0)
        lock = threading.Lock()

        def work(rows: slice, stop: threading.Event) -> None:
            members = self._pairs.relevance.members(rows)
            scores = self._pairs.scoring.exact(
                members.rows[members.kept] + rows.start, members.columns[members.kept]
            )
            for rate, threshold in thresholds.items():
                accepted = int(np.count_nonzero(scores > threshold))
                with lock:
                    counts[rate] += accepted

        run_blocks(
            len(self._pairs.scoring.left),
            BLOCK_ROWS,
            work,
            self._pairs.execution,
            "genuine pairs",
        )
        return {rate: count / self._genuine_total for rate, count in counts.items()}

    def _tails(
        self, counted: ImpostorCounts, needs: Mapping[float, int]
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
            if deep == self._pairs.impostors or deep >= rank + 0.8 * (
                depth_for(rank) - rank
            ):
                result[rate] = whole
                continue
            if sample is None:
                sample = self._tail(counted, pairs.sampled, self._plan.sampled_share)
            result[rate] = sample
        return result

    def _tail(
        self, counted: ImpostorCounts, chosen: npt.NDArray[np.bool_], kept: float
    ) -> ImpostorTail:
        pairs, relevance = counted.pairs, self._pairs.relevance
        return ImpostorTail.sort(
            counted.exact(chosen),
            relevance.query_codes[pairs.rows[chosen]].astype(np.int32),
            relevance.gallery_codes[pairs.columns[chosen]].astype(np.int32),
            kept,
            kept == 1 and int(chosen.sum()) == self._pairs.impostors,
        )
