"""The share of genuine scores above a threshold that impostors set."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Identities = npt.NDArray[np.int32]

# A rate times a count is compared with a count; this much rounding is forgiven.
_ROUNDING = 1 + 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class ImpostorTail:
    """The highest impostor scores, or a seeded sample of them.

    Attributes:
        scores: (tail,) float64, descending.
        first: (tail,) int32, the identity of the query.
        second: (tail,) int32, the identity of the gallery item.
        kept: The share of the scores of this range that are held; 1: all of them.
    """

    scores: Floats
    first: Identities
    second: Identities
    kept: float = 1.0

    @classmethod
    def sort(
        cls, scores: Floats, first: Identities, second: Identities, kept: float = 1.0
    ) -> ImpostorTail:
        """Brings the scores into descending order, ties by identity."""
        order = np.lexsort((second, first, -scores))
        return cls(scores[order], first[order], second[order], kept)


@dataclasses.dataclass(frozen=True, eq=False)
class GenuineScores:
    """The scores of pairs that belong together.

    Attributes:
        scores: (genuine,) float64, in the order of the pairs.
        identity: (genuine,) int32.
        weight: (genuine,) float64, 1 or the probability of a rank within the limit.
    """

    scores: Floats
    identity: Identities
    weight: Floats

    def share_above(self, threshold: float) -> float:
        """The weighted share of the scores above a threshold."""
        return float(self.weight[self.scores > threshold].sum() / len(self.scores))


def threshold_at(tail: ImpostorTail, rate: float, total: int) -> float:
    """The score that an accepted pair must exceed.

    It is the lowest threshold at which at most `rate * total` impostors are accepted.
    Impostors of one score are accepted together or not at all, as in scikit-learn's
    `roc_curve`.

    Args:
        tail: The highest impostor scores, all of them (`kept` is 1).
        rate: The greatest share of accepted impostors.
        total: How many impostors there are, those below the tail included.

    Returns:
        A score of the tail, or minus infinity when the whole tail may be accepted.

    Example:
        >>> scores = np.array([0.9, 0.5, 0.5, 0.1])
        >>> zeros = np.zeros(4, np.int32)
        >>> threshold_at(ImpostorTail(scores, zeros, zeros), 0.25, 4)
        0.5
    """
    allowed = int(rate * total * _ROUNDING)
    return float(tail.scores[allowed]) if allowed < len(tail.scores) else -np.inf


def share_replicates(
    tail: ImpostorTail,
    genuine: GenuineScores,
    rates: tuple[float, ...],
    weight_blocks: Iterable[tuple[int, Floats]],
    impostor_total: Callable[[Floats], Floats],
    replicates: int,
) -> tuple[Floats, Floats]:
    """Replicates of the accepted share, with the thresholds estimated anew in each.

    An impostor pair weighs the product of its identities' weights, a genuine pair its
    identity's weight.

    Args:
        tail: The highest impostor scores.
        genuine: The genuine scores.
        rates: Rates of accepted impostors, ascending.
        weight_blocks: Gives the number of the first replicate, and (block, identities)
            float64 weights.
        impostor_total: Gives (block,) the weight of all impostors for such weights.
        replicates: How many there are in all blocks.

    Returns:
        Shares and thresholds, both (replicates, rates) float64. A replicate whose tail
        ends before the rate is reached has the threshold minus infinity.
    """
    from keras_bct.evaluation import kernels

    order = np.argsort(-genuine.scores, kind="stable")
    scores, identity = genuine.scores[order], genuine.identity[order]
    weight = genuine.weight[order]
    share = np.empty((replicates, len(rates)))
    thresholds = np.empty((replicates, len(rates)))
    for start, weights in weight_blocks:
        rows = slice(start, start + len(weights))
        limits = impostor_total(weights)[:, None] * np.array(rates) * _ROUNDING
        counts = np.bincount(identity, minlength=weights.shape[1])
        kernels.accepted_share(
            weights,
            tail.first,
            tail.second,
            tail.scores,
            limits * tail.kept,
            scores,
            identity,
            weight,
            weights @ counts,
            share[rows],
            thresholds[rows],
        )
    # A draw without any genuine pair (or impostor) says nothing.
    return share, thresholds
