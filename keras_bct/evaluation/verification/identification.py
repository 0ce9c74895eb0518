"""1:N open-set identification: who is this probe, if it is anybody we know?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.engine.bootstrap import IdentityDraws, mean_replicates
from keras_bct.evaluation.engine.rank_counts import match_probability
from keras_bct.evaluation.verification.acceptance import (
    GenuineScores,
    ImpostorTail,
    share_replicates,
    threshold_at,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class IdentificationStatistics:
    """What identification keeps of an evaluation.

    A probe whose label the gallery holds is mated, another one is not. A mated probe
    whose mates are all excluded is neither.

    Attributes:
        mated_labels: (mated,) strings.
        mate_scores: (mated,) float64, the best score of a mate.
        best: (mated, 3) int64, the group of that score: mates, other items in it,
            other items above it.
        non_mated_labels: (non-mated,) strings.
        top_scores: (non-mated,) float64, the best score in the gallery.
        to_distance: Turns a score into the user's distance.
    """

    mated_labels: npt.NDArray[np.str_]
    mate_scores: Floats
    best: Integers
    non_mated_labels: npt.NDArray[np.str_]
    top_scores: Floats
    to_distance: Callable[[float], float]

    def within_rank(self, rank: int | None) -> Floats:
        """(mated,) the probability that a mate stands within the rank; None: 1."""
        if rank is None:
            return np.ones(len(self.mated_labels))
        return match_probability(rank, *self.best.T)

    def threshold(self, rate: float) -> float:
        """The score that a probe's answer must exceed at a FPIR."""
        zeros = np.zeros(len(self.top_scores), np.int32)
        tail = ImpostorTail.sort(self.top_scores, zeros, zeros)
        return threshold_at(tail, rate, len(self.top_scores))

    def identified(self, rate: float, rank: int | None) -> Floats:
        """(mated,) the probability that the probe is identified at a FPIR."""
        return self.within_rank(rank) * (self.mate_scores > self.threshold(rate))

    def value(self, rate: float, rank: int | None = None) -> float:
        """TPIR: the share of mated probes identified at a FPIR.

        Without a rank limit, as IJB-C is reported, a mate above the threshold counts
        wherever it stands among the candidates.
        """
        return float(self.identified(rate, rank).mean())

    def replicates(
        self, rate: float, rank: int | None, draws: IdentityDraws
    ) -> tuple[Floats, Floats]:
        """(replicates,) TPIR and the threshold, estimated anew in each.

        Mated and non-mated identities are resampled apart, as a protocol fixes how
        many there are of each; the gallery stays as it is.
        """
        mated, mated_identity = np.unique(self.mated_labels, return_inverse=True)
        others, other_identity = np.unique(self.non_mated_labels, return_inverse=True)
        # The weights of the mated, of the non-mated, and a column of ones, so that a
        # probe weighs as its own identity alone.
        unit = len(mated) + len(others)
        tail = ImpostorTail.sort(
            self.top_scores,
            (len(mated) + other_identity).astype(np.int32),
            np.full(len(self.top_scores), unit, np.int32),
        )
        probes = np.bincount(other_identity)

        def blocks() -> Iterator[tuple[int, Floats]]:
            of_mated = draws.blocks(len(mated))
            stream = dataclasses.replace(draws, stream=draws.stream + 1)
            for (start, left), (_, right) in zip(
                of_mated, stream.blocks(len(others)), strict=True
            ):
                yield start, np.hstack([left, right, np.ones((len(left), 1))])

        share, threshold = share_replicates(
            tail,
            GenuineScores(
                self.mate_scores,
                mated_identity.astype(np.int32),
                self.within_rank(rank),
            ),
            (rate,),
            blocks(),
            lambda weights: weights[:, len(mated) : unit] @ probes,
            draws.replicates,
            Execution().threads,
        )
        return share[:, 0], threshold[:, 0]

    def det(self) -> tuple[Floats, Floats, Floats]:
        """The detection error trade-off, from strict to lenient, without a rank limit.

        Returns:
            Scores, FPIRs and FNIRs (1 - TPIR) of answering probes whose score is no
            lower than each score, all (points,) float64.
        """
        scores = np.unique(np.concatenate([self.top_scores, self.mate_scores]))[::-1]
        others, mates = np.sort(self.top_scores), np.sort(self.mate_scores)
        alarms = len(others) - np.searchsorted(others, scores, side="left")
        missed = np.searchsorted(mates, scores, side="left")
        return scores, alarms / len(others), missed / len(mates)

    def rank_replicates(self, rank: int, draws: IdentityDraws) -> Floats:
        """(replicates,) the share of mated probes with a mate within the rank."""
        _, identity = np.unique(self.mated_labels, return_inverse=True)
        return mean_replicates(self.within_rank(rank), identity, draws)
