"""Resampling of identities, with the same draws for every version."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Of one block of draws; small enough that 50,000 identities stay under 50 MiB.
_DRAWS_PER_BLOCK = 100


@dataclasses.dataclass(frozen=True)
class IdentityDraws:
    """Seeded draws of identities with replacement.

    Two measurements over the same identities see the same draws, which is what makes
    the bootstrap of their difference a paired one.

    Attributes:
        replicates: How many draws.
        seed: Of the draws.
        stream: Another stream is another independent set of draws.

    Example:
        >>> (start, weights), = IdentityDraws(replicates=2, seed=0).blocks(5)
        >>> weights.sum(axis=1).tolist()
        [5.0, 5.0]
    """

    replicates: int
    seed: int
    stream: int = 0

    def blocks(self, identities: int) -> Iterator[tuple[int, Floats]]:
        """How often each identity is drawn, some replicates at a time.

        Args:
            identities: How many there are to draw from; as many are drawn.

        Yields:
            The first replicate's number, and the weights, (block, identities) float64.
        """
        generator = np.random.default_rng([self.seed, self.stream])
        for start in range(0, self.replicates, _DRAWS_PER_BLOCK):
            size = min(_DRAWS_PER_BLOCK, self.replicates - start)
            drawn = generator.integers(0, identities, (size, identities))
            drawn += np.arange(size)[:, None] * identities
            counts = np.bincount(drawn.ravel(), minlength=size * identities)
            yield start, counts.reshape(size, identities).astype(np.float64)


def percentile_interval(replicates: Floats, confidence: float) -> tuple[float, float]:
    """The two-sided percentile interval of a statistic's replicates.

    Args:
        replicates: (r,) float64; NaN where a replicate has no value.
        confidence: Strictly between 0 and 1.

    Returns:
        Lower and upper end; NaN twice where no replicate has a value.

    Example:
        >>> percentile_interval(np.arange(101.0), 0.5)
        (25.0, 75.0)
    """
    valid = replicates[np.isfinite(replicates)]
    if len(valid) == 0:
        return float("nan"), float("nan")
    tail = (1 - confidence) / 2
    low, high = np.quantile(valid, [tail, 1 - tail])
    return float(low), float(high)


def mean_replicates(
    values: Floats, identity: npt.NDArray[np.int64], draws: IdentityDraws
) -> Floats:
    """Replicates of a mean over items that belong to identities.

    Args:
        values: (m,) float64, one per item, without NaN.
        identity: (m,) int64, the identity of each item, counted from 0 without gaps.
        draws: The draws.

    Returns:
        (replicates,) float64: the weighted mean, an item weighing as its identity.
    """
    identities = int(identity.max()) + 1
    sums = np.stack(
        [
            np.bincount(identity, values, identities),
            np.bincount(identity, minlength=identities).astype(np.float64),
        ],
        axis=1,
    )
    result = np.empty(draws.replicates)
    for start, weights in draws.blocks(identities):
        total, count = (weights @ sums).T
        result[start : start + len(weights)] = total / count
    return result
