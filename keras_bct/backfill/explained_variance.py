"""Whether a map leads to its target at all, or with its sides exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.adapter import Adapter

_LEAST = 0.01
"""A map that explains less of the target's variance leads elsewhere."""

_EXCHANGED = 1.5
"""Where so many times as much is explained the other way, sides may be exchanged."""


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
    missed = float(np.vdot(wanted, wanted)) - along / power * along
    return max(1 - missed / variance, 0.0)


def leads_elsewhere(
    adapter: Adapter,
    sides: Mapping[str, NDArray[Any]],
    mapped: NDArray[Any],
    side_information: NDArray[Any] | None,
) -> tuple[str, ...]:
    """Give a warning where a map explains next to nothing, or more the other way.

    Args:
        adapter: The map.
        sides: `old` and `new` rows of the same items, not all the same.
        mapped: What it makes of its source.
        side_information: As `Adapter.transform`.
    """
    explained = explained_variance(mapped, sides[adapter.target])
    exchanged = _exchanged(adapter, sides, side_information)
    if explained >= _LEAST and exchanged <= _EXCHANGED * explained:
        return ()
    return (
        f"the map explains {explained:.1%} of the variance of the rows of "
        f"`{adapter.target}`, whatever it is multiplied by"
        + (f", and {exchanged:.1%} with `old` and `new` exchanged" if exchanged else "")
        + ". Make sure that `old` and `new` are not exchanged and are of the versions "
        "that it was fitted to.",
    )


def _exchanged(
    adapter: Adapter,
    sides: Mapping[str, NDArray[Any]],
    side_information: NDArray[Any] | None,
) -> float:
    """What the map would explain if `old` were `new`, and `new` were `old`."""
    source, target = sides[adapter.source], sides[adapter.target]
    # Of two sizes, exchanged sides have been refused.
    if source.shape != target.shape:
        return 0.0
    try:
        mapped, _ = adapter.transform_with_variance(
            target, side_information=side_information
        )
    except ValueError:
        # They are too large for the map: it was not fitted to them.
        return 0.0
    return explained_variance(mapped, source)
