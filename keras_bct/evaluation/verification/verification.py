"""1:1 verification: is this pair of one identity?"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.engine.bootstrap import IdentityDraws
from keras_bct.evaluation.verification.acceptance import (
    GenuineScores,
    ImpostorTail,
    equal_error_replicates,
    share_replicates,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class PairCounts(abc.ABC):
    """How many impostor pairs join each two identities."""

    @property
    @abc.abstractmethod
    def total(self) -> int:
        """The number of impostor pairs."""

    @abc.abstractmethod
    def weigh(self, weights: Floats) -> Floats:
        """(block,) the weight of all impostor pairs for (block, identities) weights.

        A pair weighs the product of its identities' weights.
        """


@dataclasses.dataclass(frozen=True, eq=False)
class AllPairCounts(PairCounts):
    """Every query with every gallery item of another identity.

    Attributes:
        queries: (identities,) int64, queries of each identity.
        gallery: (identities,) int64, gallery items of each identity.
    """

    queries: Integers
    gallery: Integers

    @property
    def total(self) -> int:
        """The number of impostor pairs."""
        same = int((self.queries * self.gallery).sum())
        return int(self.queries.sum()) * int(self.gallery.sum()) - same

    def weigh(self, weights: Floats) -> Floats:
        """(block,) the weight of all impostor pairs for (block, identities) weights."""
        everything = (weights @ self.queries) * (weights @ self.gallery)
        return np.asarray(everything - weights**2 @ (self.queries * self.gallery))


@dataclasses.dataclass(frozen=True, eq=False)
class ListedPairCounts(PairCounts):
    """The impostors of a list of pairs, each two identities once.

    Attributes:
        first: (k,) int64, the identity of the queries.
        second: (k,) int64, the identity of the gallery items.
        counts: (k,) int64, how many pairs join them.
    """

    first: Integers
    second: Integers
    counts: Integers

    @classmethod
    def of(
        cls, first: npt.NDArray[np.int32], second: npt.NDArray[np.int32]
    ) -> ListedPairCounts:
        """Counts a list, the genuine pairs left out.

        Args:
            first: (pairs,) int32, the identity of each pair's query.
            second: (pairs,) int32, the identity of each pair's gallery item.
        """
        impostors = first != second
        joined = first[impostors].astype(np.int64) << 32
        joined |= second[impostors]
        unique, counts = np.unique(joined, return_counts=True)
        return cls(unique >> 32, unique & 0xFFFFFFFF, counts)

    @property
    def total(self) -> int:
        """The number of impostor pairs."""
        return int(self.counts.sum())

    def weigh(self, weights: Floats) -> Floats:
        """(block,) the weight of all impostor pairs for (block, identities) weights."""
        from keras_bct.evaluation.engine.kernels.replicates import weigh_pairs

        total = np.zeros(len(weights))
        columns = np.ascontiguousarray(weights.T)
        weigh_pairs(columns, self.first, self.second, self.counts, total)
        return total


@dataclasses.dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """Impostor scores on a grid.

    Attributes:
        edges: (buckets,) float64, ascending, the first one minus infinity.
        above: (buckets,) int64, impostors from each edge up.
    """

    edges: Floats
    above: Integers


@dataclasses.dataclass(frozen=True, eq=False)
class VerificationStatistics:
    """What verification keeps of an evaluation.

    Attributes:
        identities: Names of the identities of both sides, sorted.
        genuine: The scores of all genuine pairs, or of a seeded sample of so many that
            memory would not hold them.
        tails: For each FAR the impostor scores that its threshold can come from.
        thresholds: For each FAR the score that an accepted pair exceeds, exact.
        shares: For each FAR the share of all genuine pairs accepted, exact.
        genuine_total: How many genuine pairs there are.
        pairs: How many impostor pairs join each two identities.
        equal_error: The equal error rate, None where it was not asked for.
        equal_error_tail: The impostor scores that it can come from.
        histogram: The impostor scores on a grid, for the ROC.
        to_distance: Turns a score into the user's distance.
    """

    identities: npt.NDArray[np.str_]
    genuine: GenuineScores
    tails: Mapping[float, ImpostorTail]
    thresholds: Mapping[float, float]
    shares: Mapping[float, float]
    genuine_total: int
    pairs: PairCounts
    equal_error: float | None
    equal_error_tail: ImpostorTail | None
    histogram: ScoreHistogram
    to_distance: Callable[[float], float]

    def value(self, rate: float) -> float:
        """The share of genuine pairs accepted at a FAR."""
        return self.shares[rate]

    def accepted(self, rate: float) -> Floats:
        """(held genuine pairs,) 1 where the pair is accepted at a FAR, else 0."""
        return (self.genuine.scores > self.thresholds[rate]).astype(np.float64)

    def replicates(self, rate: float, draws: IdentityDraws) -> tuple[Floats, Floats]:
        """(replicates,) shares accepted, and thresholds estimated anew in each."""
        share, threshold = share_replicates(
            self.tails[rate],
            self.genuine,
            (rate,),
            draws.blocks(len(self.identities)),
            self.pairs.weigh,
            draws.replicates,
            Execution().threads,
        )
        return share[:, 0], threshold[:, 0]

    def equal_error_replicates(self, draws: IdentityDraws) -> Floats:
        """(replicates,) the equal error rate.

        Raises:
            ValueError: It was not asked for.
        """
        if self.equal_error_tail is None:
            raise ValueError("`metrics` should name verification/EER. Received none.")
        return equal_error_replicates(
            self.equal_error_tail,
            self.genuine,
            draws.blocks(len(self.identities)),
            self.pairs.weigh,
            draws.replicates,
            Execution().threads,
        )

    def roc(self) -> tuple[Floats, Floats, Floats]:
        """The receiver operating characteristic, from strict to lenient.

        At the edges of the histogram, and at every score of the tail that the
        evaluation holds; the DET curve is FAR against 1 - TAR.

        Returns:
            Scores, FARs and TARs of accepting what is no lower than each score, all
            (points,) float64.
        """
        total = self.pairs.total
        scores = [self.histogram.edges]
        far = [self.histogram.above / total]
        whole = [tail for tail in self.tails.values() if tail.kept == 1]
        if whole:
            tail = max(whole, key=lambda tail: len(tail.scores))
            last = np.append(tail.scores[1:] != tail.scores[:-1], True)
            scores.append(tail.scores[last])
            far.append((np.flatnonzero(last) + 1) / total)
        all_scores, all_far = np.concatenate(scores), np.concatenate(far)
        order = np.lexsort((all_far, -all_scores))
        genuine = np.sort(self.genuine.scores)
        refused = np.searchsorted(genuine, all_scores[order], side="left")
        # Rounding at an edge may misplace a score by one bucket; a ROC never falls.
        return (
            all_scores[order],
            np.maximum.accumulate(all_far[order]),
            1 - refused / len(genuine),
        )


def equal_error_rate(far: Floats, frr: Floats) -> float:
    """Where the shares of accepted impostors and refused genuine pairs meet.

    Args:
        far: (points,) float64, rising.
        frr: (points,) float64, falling.

    Returns:
        The value where the straight line between two points crosses far = frr.

    Example:
        >>> equal_error_rate(np.array([0.0, 0.2]), np.array([0.3, 0.1]))
        0.15
    """
    i = int(np.argmax(far >= frr))
    if i == 0:
        return float(far[0])
    rise = far[i] - far[i - 1] + frr[i - 1] - frr[i]
    part = (frr[i - 1] - far[i - 1]) / rise
    return float(far[i - 1] + part * (far[i] - far[i - 1]))
