"""The order of a backfill: which items get their new embeddings first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.checked_numbers import whole_number

Integers = NDArray[np.int64]


def highest_first(priorities: NDArray[Any] | Iterable[NDArray[Any]]) -> Integers:
    """Order rows by falling priority, equal ones as they stand in the gallery.

    Args:
        priorities: `(n,)` numbers, or blocks of them in the order of the gallery. They
            are all that is kept: 8 bytes an item.

    Returns:
        `(n,)` int64, row numbers, the first to be embedded anew first.

    Raises:
        ValueError: No item, another shape, NaN, or None, as a map without a variance
            gives it.

    Example:
        >>> highest_first(np.array([0.5, 2.0, 0.5, 1.0])).tolist()
        [1, 3, 0, 2]
        >>> highest_first(iter([np.array([0.5, 2.0]), np.array([0.5])])).tolist()
        [1, 0, 2]
    """
    if priorities is None:
        raise ValueError(
            "`priorities` should be numbers. Received: None, which closed-form maps "
            "give for the variance that they do not predict. Order by another priority "
            "of `keras_bct.backfill`, such as `query_frequency`, or by `random_order`."
        )
    if isinstance(priorities, np.ndarray):
        values = _checked(priorities)
    else:
        blocks = [_checked(block) for block in priorities]
        values = np.concatenate(blocks) if blocks else np.empty(0)
    if not len(values):
        raise ValueError("`priorities` should hold at least one item. Received: 0.")
    return np.argsort(-values, kind="stable").astype(np.int64)


def random_order(items: int, seed: int) -> Integers:
    """Order rows at random, the same for the same seed.

    Args:
        items: n, how many there are.
        seed: Of the order.

    Returns:
        `(n,)` int64, row numbers.

    Raises:
        ValueError: `items` is no whole number above zero, or `seed` none from zero on.

    Example:
        >>> sorted(random_order(4, seed=0).tolist())
        [0, 1, 2, 3]
    """
    items = whole_number("items", items, least=1)
    generator = np.random.default_rng(whole_number("seed", seed, least=0))
    return generator.permutation(items).astype(np.int64)


def _checked(priorities: NDArray[Any]) -> NDArray[np.float64]:
    values = np.asarray(priorities)
    if values.ndim != 1 or values.dtype.kind not in "fiu":
        raise ValueError(
            "`priorities` should have shape (n,), a number for each item. Received: "
            f"shape {values.shape}, dtype {values.dtype}."
        )
    values = values.astype(np.float64)
    if np.isnan(values).any():
        raise ValueError(
            "`priorities` should be numbers. Received: NaN for item "
            f"{int(np.flatnonzero(np.isnan(values))[0])}; what it was computed from "
            "is not finite."
        )
    return values
