"""FastFill's priority: the error that the alignment model predicts for itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def predicted_variance(log_variance: NDArray[Any]) -> NDArray[np.float64]:
    """Give a priority that rises with the predicted sigma^2.

    The logarithm is kept: it orders as sigma^2 does and does not overflow.

    Args:
        log_variance: `(n,)` or `(n, 1)`, `log sigma^2` of each item; or `(n, d)`, one
            for each component, whose variances are summed.

    Returns:
        `(n,)` float64, the logarithm of the (summed) variance.

    Raises:
        ValueError: Another shape, NaN or infinity, or None, as a map without a
            variance gives it.

    Example:
        >>> predicted_variance(np.log([[1.0, 2.0], [0.5, 0.5]])).round(4).tolist()
        [1.0986, 0.0]

    References:
        Jaeckle et al., FastFill, ICLR 2023, section 3.3.
    """
    if log_variance is None:
        raise ValueError(
            "`log_variance` should be what a map with an uncertainty head predicts. "
            "Received: None, since a closed-form map predicts none. Take an alignment "
            "model's, another priority of `keras_bct.backfill`, or `random_order`."
        )
    values = np.asarray(log_variance)
    if values.ndim not in (1, 2) or values.dtype.kind != "f" or 0 in values.shape[1:]:
        raise ValueError(
            "`log_variance` should have shape (n,) or (n, d) and a floating type. "
            f"Received: shape {values.shape}, dtype {values.dtype}."
        )
    # In C's order: in another, sums along a row depend on how many rows there are.
    values = values.astype(np.float64, order="C")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        raise ValueError(
            f"`log_variance` should be finite. Received: NaN or infinity in row {row}."
        )
    if values.ndim == 1:
        return values
    highest = values.max(axis=1, keepdims=True)
    summed = np.exp(values - highest).sum(axis=1)
    return np.asarray(highest[:, 0] + np.log(summed))
