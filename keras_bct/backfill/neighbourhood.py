"""The density of an item's neighbourhood, from the distances to its nearest items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import embedding_rows, finite_blocks
from keras_bct.backfill.distance import DISTANCES, Floats, unit_rows

_SCORES = 2**21


def neighbourhood_distance(
    embeddings: NDArray[Any],
    *,
    neighbours: int = 10,
    references: int = 10_000,
    distance: str = "l2",
    seed: int = 0,
) -> Floats:
    """The mean distance of each item to its nearest others: high where it is sparse.

    Neighbours are looked for among an even sample of the gallery, an item never among
    its own. The negative of it puts dense neighbourhoods first. A memory-mapped
    gallery is read in blocks.

    Args:
        embeddings: `(n, d)`, the whole gallery.
        neighbours: k, how many nearest items count.
        references: How many items are sampled, more than k; all when there are fewer.
        distance: `l2` or `cosine`.
        seed: Of the sample.

    Returns:
        `(n,)` float64.

    Raises:
        ValueError: Too few items or references for k, an unknown distance, another
            shape, NaN or infinity, or a zero row with `cosine`.
        TypeError: No floating type.

    Example:
        >>> rows = np.array([[0.0], [1.0], [2.0], [7.0]])
        >>> neighbourhood_distance(rows, neighbours=2).tolist()
        [1.5, 1.0, 1.5, 5.5]
    """
    if distance not in DISTANCES:
        raise ValueError(
            f"`distance` should be one of {', '.join(DISTANCES)}. "
            f"Received: {distance!r}."
        )
    rows = embedding_rows("embeddings", embeddings)
    sampled = min(references, len(rows))
    if not 1 <= neighbours < sampled:
        raise ValueError(
            "`neighbours` should be at least 1 and below the number of items and "
            f"`references`. Received: {neighbours} with {len(rows)} items and "
            f"{references} references."
        )
    chosen = np.sort(
        np.random.default_rng(seed).choice(len(rows), sampled, replace=False)
    )
    sample = _float64("embeddings", rows[chosen], distance)
    place = np.full(len(rows), -1, np.int64)
    place[chosen] = np.arange(sampled)
    result = np.empty(len(rows))
    step = max(1, _SCORES // sampled)
    for block in finite_blocks("embeddings", rows):
        for start in range(block.start, block.stop, step):
            part = slice(start, min(start + step, block.stop))
            squared = _squared(
                _float64("embeddings", rows[part], distance, start), sample
            )
            own = np.flatnonzero(place[part] >= 0)
            squared[own, place[part][own]] = np.inf
            nearest = np.partition(squared, neighbours - 1, axis=1)[:, :neighbours]
            values = nearest / 2 if distance == "cosine" else np.sqrt(nearest)
            result[part] = values.mean(axis=1)
    return result


def _float64(name: str, rows: NDArray[Any], distance: str, start: int = 0) -> Floats:
    values: Floats = rows.astype(np.float64)
    return unit_rows(name, values, start) if distance == "cosine" else values


def _squared(left: Floats, right: Floats) -> Floats:
    """Squared distances of all pairs, (n, m)."""
    norms = np.einsum("ij,ij->i", left, left)[:, None]
    norms = norms + np.einsum("ij,ij->i", right, right)
    return np.asarray(np.maximum(norms - 2 * left @ right.T, 0))
