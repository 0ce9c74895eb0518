"""What a linear unit can say of a number, told from other typefaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]


def linear_fit(
    features: Floats, targets: Floats, groups: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Predict each item's number by least squares over the items of other groups.

    Args:
        features: `(n, d)`.
        targets: `(n,)`.
        groups: `(n,)` names; no item is predicted by one of its own group.

    Returns:
        `(n,)`.

    Raises:
        ValueError: There is one group only.

    Example:
        >>> features = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> groups = np.array(["a", "b", "a", "b"])
        >>> linear_fit(features, 2 * features[:, 0] + 1, groups).round(6).tolist()
        [1.0, 3.0, 5.0, 7.0]
    """
    names = np.unique(groups)
    if len(names) < 2:
        raise ValueError(
            f"`groups` should name two or more. Received: {names.tolist()}"
        )
    rows = np.hstack([features, np.ones((len(features), 1))]).astype(np.float64)
    predicted = np.empty(len(rows))
    for name in names:
        own = groups == name
        weights = np.linalg.lstsq(rows[~own], targets[~own], rcond=None)[0]
        predicted[own] = rows[own] @ weights
    return predicted
