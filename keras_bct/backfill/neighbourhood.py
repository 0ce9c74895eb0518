"""The density of an item's neighbourhood, from the distances to its nearest items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import (
    BLOCK_ROWS,
    embedding_rows,
    finite_blocks,
    refuse_overflow,
)
from keras_bct.backfill.distance import (
    DISTANCES,
    Floats,
    rowwise_distance,
    unit_rows,
)
from keras_bct.checked_numbers import whole_number
from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.retrieval.nearest import nearest

_QUIET = Execution(progress=False)


def neighbourhood_distance(
    embeddings: NDArray[Any],
    *,
    neighbours: int = 10,
    references: int = 10_000,
    distance: str = "l2",
    seed: int = 0,
) -> Floats:
    """The mean distance of each item to its nearest others: high where it is sparse.

    Neighbours are looked for in float32 among an even sample of the gallery. The
    negative of it puts dense neighbourhoods first. A memory-mapped gallery is read in
    blocks, twice.

    An item is never among its own neighbours. Where the sample holds a twin of it, an
    item at no distance, one twin is left out in its stead: so equal items get equal
    distances, to the last bit, whichever of them was sampled.

    Args:
        embeddings: `(n, d)`, the whole gallery.
        neighbours: k, how many nearest items count.
        references: How many items are sampled, more than k; all when there are fewer.
        distance: `l2` or `cosine`.
        seed: Of the sample.

    Returns:
        `(n,)` float64.

    Raises:
        ValueError: A count that is no whole number, too few items or references for
            k, an unknown distance, another shape, NaN or infinity, a zero row with
            `cosine`, or a distance that float64 cannot hold.
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
    neighbours = whole_number("neighbours", neighbours, least=1)
    references = whole_number("references", references, least=1)
    generator = np.random.default_rng(whole_number("seed", seed, least=0))
    rows = embedding_rows("embeddings", embeddings)
    sampled = min(references, len(rows))
    if neighbours >= sampled:
        raise ValueError(
            "`neighbours` should be below the number of items and `references`. "
            f"Received: {neighbours} with {len(rows)} items and {references} "
            "references."
        )
    largest = 0.0
    for block in finite_blocks("embeddings", rows):
        if distance == "cosine":
            unit_rows("embeddings", rows[block].astype(np.float64), block.start)
        else:
            largest = max(largest, float(np.abs(rows[block]).max()))
    exponent = np.frexp(largest)[1]

    def scaled(part: slice | NDArray[Any]) -> Floats:
        # To the range of float32; by a power of two, which rounds nothing.
        return np.asarray(np.ldexp(rows[part].astype(np.float64, order="C"), -exponent))

    sample = scaled(np.sort(generator.choice(len(rows), sampled, replace=False)))
    # Far from the origin float32 tells rows apart only relative to one of them.
    origin = sample.mean(axis=0)

    def searched(part: Floats) -> Floats:
        return unit_rows("embeddings", part) if distance == "cosine" else part - origin

    gallery = searched(sample)
    result = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        items = scaled(block)
        found = nearest(
            searched(items),
            gallery,
            neighbours + 1,
            distance=distance,
            execution=_QUIET,
        )
        # Anew, from differences: a twin is at no distance, not nearly at none.
        distances = np.stack(
            [
                rowwise_distance(
                    "embeddings", items, "embeddings", sample, distance, nearby
                )
                for nearby in found.items.T
            ],
            axis=1,
        )
        distances.sort(axis=1)
        others = np.where(
            distances[:, :1] == 0, distances[:, 1:], distances[:, :neighbours]
        )
        result[block] = others.mean(axis=1)
    with np.errstate(over="ignore"):
        result = np.ldexp(result, exponent)
    refuse_overflow("embeddings", result)
    return result
