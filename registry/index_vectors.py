"""Stored vectors and queries as ScaNN gets them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def prepare(vectors: Floats, first_components: int, distance: str) -> Floats:
    """Vectors as ScaNN gets them: cut first, then for cosine made unit length.

    >>> prepare(np.array([[3.0, 4.0, 9.0]], np.float32), 2, "cosine").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    cut = np.ascontiguousarray(vectors[:, :first_components], np.float32)
    if distance != "cosine":
        return cut
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    # A vector of zeros has no direction; it stays, and is as far from all others.
    scaled: Floats = np.divide(cut, np.where(norms > 0, norms, 1), dtype=np.float32)
    return scaled
