"""Whether a map leads to its target at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 0.01
"""A map that explains less of the target's variance leads elsewhere."""


def explained_variance(mapped: NDArray[Any], target: NDArray[Any]) -> float:
    """The share of the target's variance that the best multiple of a map explains.

    A multiple, since lengths are no fault where rows are compared by cosine: a rotation
    keeps those of the source, and a map may lead to unit vectors.

    Args:
        mapped: `(n, d)`, finite.
        target: `(n, d)`, finite, what it should be.

    Returns:
        At most 1; 0 where no multiple is nearer to the target than its mean is, and
        where the target stands still.

    Example:
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> explained_variance(3 * rows, rows), explained_variance(rows[::-1], rows)
        (1.0, 0.0)
    """
    # Neither side's unit matters, and without it squares do not overflow.
    rows, wanted = (
        side.astype(np.float64) / (np.abs(side).max() or 1.0)
        for side in (mapped, target)
    )
    power, along = float(np.vdot(rows, rows)), float(np.vdot(rows, wanted))
    variance = float(((wanted - wanted.mean(axis=0)) ** 2).sum())
    if not variance or along <= 0:
        return 0.0
    missed = float(((wanted - along / power * rows) ** 2).sum())
    return max(1 - missed / variance, 0.0)


def leads_elsewhere(
    name: str, mapped: NDArray[Any], target: NDArray[Any]
) -> tuple[str, ...]:
    """Give a warning where a map explains next to nothing.

    Args:
        name: The caller's name of the target.
        mapped: `(n, d)`, finite.
        target: `(n, d)`, finite, not all the same.
    """
    explained = explained_variance(mapped, target)
    if explained >= _LEAST:
        return ()
    return (
        f"the map explains {explained:.1%} of the variance of the rows of `{name}`, "
        "whatever it is multiplied by. Make sure that `old` and `new` are not "
        "exchanged and are of the versions that it was fitted to.",
    )
