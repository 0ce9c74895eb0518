"""Class names of items, refused where one is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keras_bct.text_column import text_column

Labels = Sequence[str] | NDArray[np.str_]


def label_array(labels: Labels, items: int) -> NDArray[np.str_]:
    """Check that there is a class name for every item.

    Args:
        labels: What was given.
        items: How many items there are.

    Returns:
        `(items,)`.

    Raises:
        ValueError: Another number of labels, or one that is missing or no text.

    Example:
        >>> label_array(["ka", b"ki"], 2).tolist()
        ['ka', 'ki']
    """
    names = text_column("labels", labels, required=True)
    if len(names) != items:
        raise ValueError(
            f"`labels` should name the class of each of {items} items. "
            f"Received: {len(names)}."
        )
    return names
