"""Exact search: the nearest vectors by float64 scores, whatever their lengths.

An index that promises exact search keeps it here and not in ScaNN's float32, whose
squares leave its range from lengths of 1e19 on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

_BLOCK = 8192
_SCORES = 1 << 24
"""How many scores are held at once, 128 MiB of them."""


def exact_search(
    queries: Floats, vectors: Floats, k: int, distance: str
) -> tuple[Rows, Doubles]:
    """Finds the `k` nearest vectors of each query, nearest first, equal ones by row.

    Args:
        queries: (m, d).
        vectors: (n, d), memory-mapped or not.
        k: At most n.
        distance: `"l2"`; or by the inner product, which for unit vectors is the cosine.

    Returns:
        (m, k) rows and their scores, as `pair_scores` gives them.

    Example:
        >>> vectors = np.array([[1e20], [3.0], [2.0]], np.float32)
        >>> rows, scores = exact_search(vectors[1:2], vectors, 2, "l2")
        >>> rows.tolist(), scores.tolist()
        ([[1, 2]], [[0.0, -1.0]])
    """
    rows = np.empty((len(queries), k), np.int64)
    scores = np.empty((len(queries), k))
    step = max(1, _SCORES // (k + _BLOCK))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        near = _candidates(queries[part].astype(np.float64), vectors, k, distance)
        near_scores = pair_scores(queries[part], vectors, near, distance)
        order = np.lexsort((near, -near_scores))
        rows[part] = np.take_along_axis(near, order, axis=1)
        scores[part] = np.take_along_axis(near_scores, order, axis=1)
    return rows, scores


def pair_scores(queries: Floats, vectors: Floats, rows: Rows, distance: str) -> Doubles:
    """Scores of single pairs in float64, higher is nearer.

    Args:
        queries: (m, d).
        vectors: (n, d).
        rows: (m, k), the vectors that each query is compared with.
        distance: `"l2"` or by the inner product.

    Returns:
        (m, k) inner products; or minus the squared distances, of the differences
        themselves, so that near vectors far from zero keep their order.
    """
    scores = np.empty(rows.shape)
    # A few at a time: each vector is copied, once for each query that it is near to.
    step = max(1, _SCORES // max(1, queries.shape[1]))
    for number, query in enumerate(queries.astype(np.float64)):
        for start in range(0, rows.shape[1], step):
            part = slice(start, start + step)
            near = vectors[rows[number, part]].astype(np.float64)
            if distance == "l2":
                near -= query
                scores[number, part] = -np.einsum("ij,ij->i", near, near)
            else:
                scores[number, part] = np.einsum("ij,j->i", near, query)
    return scores


def _candidates(queries: Doubles, vectors: Floats, k: int, distance: str) -> Rows:
    """The `k` nearest rows in no order, a block of vectors at a time."""
    kept = np.empty((len(queries), 0), np.int64)
    highest = np.empty((len(queries), 0))
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK].astype(np.float64)
        scores = queries @ block.T
        if distance == "l2":
            # Minus the squared distance, up to the query's own square.
            scores = 2 * scores - np.einsum("ij,ij->i", block, block)
        numbers = np.broadcast_to(np.arange(start, start + len(block)), scores.shape)
        scores = np.hstack([highest, scores])
        rows = np.hstack([kept, numbers])
        if rows.shape[1] > k:
            best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
            scores = np.take_along_axis(scores, best, axis=1)
            rows = np.take_along_axis(rows, best, axis=1)
        kept, highest = rows, scores
    return kept
