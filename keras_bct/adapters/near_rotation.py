"""Least squares under a bound on how far a matrix is from a rotation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEPS = 500
_STILL = 1e-8
# m is sought among so many at once, again and again between the two nearest.
_PULLS, _ROUNDS = 50, 5
_NEWTON_STEPS = 40


def deviation(matrix: Floats) -> float:
    """`|B'B - I|_F`, or of `B B'` where that is the smaller.

    Example:
        >>> deviation(np.diag([1.0, 2.0]))
        3.0
    """
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(_deviation(np.asarray(values, np.float64)))


def nearest(matrix: Floats, bound: float) -> Floats:
    """The nearest matrix, in Frobenius norm, whose deviation is at most `bound`.

    Only singular values change: each solves `s + m s (s^2 - 1) = s_0`, with the one m
    at which the bound holds.

    Args:
        matrix: `(s, t)`.
        bound: Zero or more.

    Example:
        >>> nearest(np.diag([1.0, 2.0]), 0.0).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    left, wanted, right = np.linalg.svd(matrix, full_matrices=False)
    if _deviation(wanted) <= bound:
        return matrix
    if bound == 0:
        return np.asarray(left @ right)
    low, high = 0.0, 1.0
    while _deviation(_pulled(wanted, high)) > bound:
        low, high = high, 8 * high
    for _ in range(_ROUNDS):
        pulls = np.linspace(low, high, _PULLS)
        holds = _deviation(_pulled(wanted, pulls[:, None])) <= bound
        first = int(np.argmax(holds))
        low, high = pulls[max(first - 1, 0)], pulls[first]
    return np.asarray((left * _pulled(wanted, high)) @ right)


def least_squares_within(
    power: Floats, along: Floats, bound: float, start: Floats
) -> Floats:
    """Minimise `tr(B' power B) - 2 tr(B' along)` under the bound.

    Projected gradient descent with Nesterov's momentum, restarted where it overshoots.

    Args:
        power: `(s, s)`, the covariance of what goes in.
        along: `(s, t)`, its covariance with what should come out.
        bound: Zero or more.
        start: `(s, t)`, within the bound.
    """

    def value(matrix: Floats) -> float:
        return float(np.vdot(power @ matrix - 2 * along, matrix))

    step = 1 / np.linalg.eigvalsh(power)[-1]
    best = ahead = start
    lowest, momentum = value(start), 1.0
    for _ in range(_STEPS):
        moved = nearest(ahead - step * (power @ ahead - along), bound)
        reached = value(moved)
        if reached > lowest:
            if momentum == 1.0:
                break
            ahead, momentum = best, 1.0
            continue
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - best)
        gained, best, momentum = lowest - reached, moved, following
        lowest = reached
        if gained <= _STILL * abs(lowest):
            break
    return best


def _deviation(values: Floats) -> Floats:
    return np.asarray(np.sqrt(((values**2 - 1) ** 2).sum(axis=-1)))


def _pulled(wanted: Floats, pull: Floats | float) -> Floats:
    """Solve `s + pull s (s^2 - 1) = wanted` for s above zero, by Newton's method."""
    # From above, where the cubic is convex, Newton's steps only fall.
    values = np.maximum(wanted, 1.0)
    for _ in range(_NEWTON_STEPS):
        squares = values**2
        excess = values * (1 + pull * (squares - 1)) - wanted
        values = values - excess / (1 + pull * (3 * squares - 1))
    return np.asarray(values)
