"""The order that the queries ask for: items that are often near a query come first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import embedding_rows
from keras_bct.backfill.distance import Floats
from keras_bct.checked_numbers import whole_number
from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.retrieval.nearest import nearest


def query_frequency(
    embeddings: NDArray[Any],
    queries: NDArray[Any] | Iterable[NDArray[Any]],
    *,
    neighbours: int = 10,
    distance: str = "cosine",
    execution: Execution | None = None,
) -> Floats:
    """Of a log of queries, how many have each item among their nearest.

    An item that nobody asks for can wait: it is seen where it stands. A query that was
    asked more often counts as often. Of items that are equally near at the end of a
    query's list the first in the gallery count, so that the counts depend neither on
    how the log is cut nor on how the work is done.

    This order is our own.

    Args:
        embeddings: `(n, d)`, the whole gallery, memory-mapped or not.
        queries: `(m, d)` embeddings of the log in the gallery's space, or blocks of
            them; one block is held at a time.
        neighbours: k, how many items of a query's answer count; those that users see.
        distance: `cosine`, `l2` or `inner_product`.
        execution: How the work is done.

    Returns:
        `(n,)` float64, whole numbers.

    Raises:
        ValueError: No query, k out of range, shapes that do not fit, NaN or infinity,
            an unknown distance, or a zero row with `cosine`.
        TypeError: No floating type.

    Example:
        >>> gallery = np.array([[0.0], [1.0], [9.0]])
        >>> log = np.array([[0.9], [1.2], [8.0]])
        >>> query_frequency(gallery, log, neighbours=1, distance="l2").tolist()
        [0.0, 2.0, 1.0]
    """
    neighbours = whole_number("neighbours", neighbours, least=1)
    gallery = embedding_rows("embeddings", embeddings)
    counts = np.zeros(len(gallery), np.int64)
    asked = 0
    for block in [queries] if isinstance(queries, np.ndarray) else queries:
        rows = embedding_rows("queries", block, gallery.shape[1])
        if not len(rows):
            continue
        asked += len(rows)
        found = nearest(
            rows, gallery, neighbours, distance=distance, execution=execution
        )
        counts += np.bincount(found.items.ravel(), minlength=len(gallery))
    if not asked:
        raise ValueError("`queries` should hold at least one query. Received: 0.")
    return counts.astype(np.float64)
