"""The share of genuine scores above a threshold that impostors set."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.ordered_map import ordered_map

Floats = npt.NDArray[np.float64]
Identities = npt.NDArray[np.int32]

# A rate times a count is compared with a count; this much rounding is forgiven.
_ROUNDING = 1 + 1e-12
_SPARE_PAIRS = 200_000
# Genuine scores in a block, at least; and sums of blocks by identity, at most.
_BLOCK_SCORES = 1024
_BLOCK_SUMS = 4_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class ImpostorTail:
    """The highest impostor scores, or a seeded sample of them.

    Attributes:
        scores: (tail,) float64, descending.
        first: (tail,) int32, the identity of the query.
        second: (tail,) int32, the identity of the gallery item.
        kept: The share of the scores of this range that are held; 1: all of them.
        complete: Whether there are no impostor scores below these.
    """

    scores: Floats
    first: Identities
    second: Identities
    kept: float = 1.0
    complete: bool = True

    @classmethod
    def sort(
        cls,
        scores: Floats,
        first: Identities,
        second: Identities,
        kept: float = 1.0,
        complete: bool = True,
    ) -> ImpostorTail:
        """Brings the scores into descending order."""
        order = np.argsort(-scores)
        return cls(scores[order], first[order], second[order], kept, complete)

    @property
    def floor(self) -> float:
        """The threshold where a replicate may accept the whole tail.

        Minus infinity where that is everybody; else the tail's end, which is a bound.
        """
        return -np.inf if self.complete else float(self.scores[-1])


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


def allowed_above(rate: float, total: int) -> int:
    """How many of all impostors may be accepted at a rate.

    Example:
        >>> allowed_above(0.29, 100)
        29
    """
    return int(rate * total * _ROUNDING)


def depth_for(rank: int) -> int:
    """How many of the highest impostor scores a bootstrap around a rank needs.

    In a replicate the threshold may fall as far again, and by so many pairs more,
    which small sets need.
    """
    return rank + max(rank, _SPARE_PAIRS)


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
    allowed = allowed_above(rate, total)
    return float(tail.scores[allowed]) if allowed < len(tail.scores) else -np.inf


def share_replicates(
    tail: ImpostorTail,
    genuine: GenuineScores,
    rates: tuple[float, ...],
    weight_blocks: Iterable[tuple[int, Floats]],
    impostor_total: Callable[[Floats], Floats],
    replicates: int,
    threads: int,
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
        threads: How many blocks are worked on at a time.

    Returns:
        Shares and thresholds, both (replicates, rates) float64.
    """
    from keras_bct.evaluation.engine.kernels.replicates import accepted_share

    order = np.argsort(-genuine.scores, kind="stable")
    scores, identity = genuine.scores[order], genuine.identity[order]
    weight = genuine.weight[order]
    counts = np.bincount(identity).astype(np.float64)
    by_block, block_size = _weight_by_block(identity, weight)
    share = np.empty((replicates, len(rates)))
    thresholds = np.empty((replicates, len(rates)))

    def estimate(block: tuple[int, Floats]) -> None:
        start, weights = block
        rows = slice(start, start + len(weights))
        total = impostor_total(weights)
        limits = total[:, None] * np.array(rates) * _ROUNDING
        held = weights[:, : by_block.shape[1]]
        before = np.zeros((len(weights), len(by_block) + 1))
        np.cumsum(held @ by_block.T, axis=1, out=before[:, 1:])
        accepted_share(
            weights,
            tail.first,
            tail.second,
            tail.scores,
            limits * tail.kept,
            tail.floor,
            scores,
            identity,
            weight,
            block_size,
            before,
            share[rows],
            thresholds[rows],
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            share[rows] /= (held @ counts)[:, None]
        # A draw of one identity alone has no impostors: it says nothing.
        share[rows][total <= 0] = np.nan

    deque(ordered_map(estimate, weight_blocks, threads), maxlen=0)
    return share, thresholds


def equal_error_replicates(
    tail: ImpostorTail,
    genuine: GenuineScores,
    weight_blocks: Iterable[tuple[int, Floats]],
    impostor_total: Callable[[Floats], Floats],
    replicates: int,
    threads: int,
) -> Floats:
    """Replicates of the equal error rate.

    Args:
        tail: The highest impostor scores.
        genuine: The genuine scores.
        weight_blocks: As in `share_replicates`.
        impostor_total: As in `share_replicates`.
        replicates: How many there are in all blocks.
        threads: How many blocks are worked on at a time.

    Returns:
        (replicates,) float64, NaN where the tail ends before the rates meet.
    """
    from keras_bct.evaluation.engine.kernels.replicates import equal_error

    order = np.argsort(-genuine.scores, kind="stable")
    scores, identity = genuine.scores[order], genuine.identity[order]
    error = np.empty(replicates)

    def estimate(block: tuple[int, Floats]) -> None:
        start, weights = block
        counts = np.bincount(identity, minlength=weights.shape[1])
        equal_error(
            weights,
            tail.first,
            tail.second,
            tail.scores,
            impostor_total(weights) * tail.kept,
            scores,
            identity,
            weights @ counts,
            error[start : start + len(weights)],
        )

    deque(ordered_map(estimate, weight_blocks, threads), maxlen=0)
    return error


def _weight_by_block(identity: Identities, weight: Floats) -> tuple[Floats, int]:
    """Sums genuine scores by block and identity, so that replicates can skip blocks.

    Returns:
        (blocks, identities) float64, and the size of a block.
    """
    identities = int(identity.max()) + 1
    size = max(_BLOCK_SCORES, len(identity) * identities // _BLOCK_SUMS)
    blocks = -(-len(identity) // size)
    block = np.arange(len(identity)) // size
    sums = np.bincount(block * identities + identity, weight, blocks * identities)
    return np.asarray(sums, np.float64).reshape(blocks, identities), size
