"""What a linear unit can say of an order at best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]


def linear_fit(features: Floats, targets: Floats) -> npt.NDArray[np.float64]:
    """Fit each item's place in an order by least squares, on the items themselves.

    Args:
        features: `(n, d)`.
        targets: `(n,)`, whose ascending order it is.

    Returns:
        `(n,)`, the fitted places.

    Example:
        >>> features = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> linear_fit(features, np.array([1.0, 10.0, 100.0, 1000.0])).round(6).tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    rows = np.hstack([features, np.ones((len(features), 1))]).astype(np.float64)
    places = np.empty(len(rows))
    places[np.argsort(targets, kind="stable")] = np.arange(len(rows))
    return np.asarray(rows @ np.linalg.lstsq(rows, places, rcond=None)[0])
