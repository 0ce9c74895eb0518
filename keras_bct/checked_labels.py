"""Class names of items, refused where one is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Labels = Sequence[str] | NDArray[np.str_]


def label_array(labels: Labels, items: int) -> NDArray[np.str_]:
    """Check that there is a class name for every item.

    Args:
        labels: What was given.
        items: How many items there are.

    Returns:
        `(items,)`.

    Raises:
        ValueError: Another number of labels, or one that is None or NaN.

    Example:
        >>> label_array(["ka", "ki"], 2).tolist()
        ['ka', 'ki']
    """
    names = np.asarray(labels)
    if names.shape != (items,):
        raise ValueError(
            f"`labels` should name the class of each of {items} items. "
            f"Received: shape {names.shape}."
        )
    # Of None and NaN NumPy makes names, unless they are in an array of names already.
    if not isinstance(labels, np.ndarray) or names.dtype.kind != "U":
        for row, label in enumerate(labels):
            # Only NaN differs from itself; of pandas's NA nobody knows.
            same = label == label
            if label is None or not isinstance(same, bool | np.bool_) or not same:
                raise ValueError(
                    f"`labels` should name the class of each of {items} items. "
                    f"Received: {label} for item {row}; leave such items out."
                )
    return names.astype(np.str_)
