"""Verification of a given list of pairs, such as the 15 million of IJB-C."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.engine.impostor_pass import ScoreGrid
from keras_bct.evaluation.engine.ordered_map import ordered_map
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.relevance import Relevance
from keras_bct.evaluation.verification.acceptance import (
    GenuineScores,
    ImpostorTail,
    allowed_above,
    depth_for,
    threshold_at,
)
from keras_bct.evaluation.verification.verification import (
    ListedPairCounts,
    ScoreHistogram,
    VerificationStatistics,
    equal_error_rate,
)
from keras_bct.progress import progress_bar
from keras_bct.tables import read_names

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_PAIRS_PER_BLOCK = 2**18
_BUCKETS = 8192


def read_pairs(path: str | os.PathLike[str]) -> npt.NDArray[np.str_]:
    """Reads a CSV file with the columns `query` and `gallery`.

    Returns:
        (k, 2) strings: ids.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It cannot be read, a column is missing, a row has no id in one, or
            there is no row.
    """
    names = ("query", "gallery")
    columns = read_names(path, names)
    pairs = np.stack([columns[name] for name in names], axis=1)
    if not len(pairs):
        raise ValueError(
            f"`pairs`: {os.fspath(path)} should have a pair in a row. Received: no row."
        )
    return pairs


def verify_pairs(
    scoring: Scoring,
    relevance: Relevance,
    pairs: Integers,
    rates: Sequence[float],
    equal_error: bool,
    execution: Execution,
) -> VerificationStatistics:
    """Verifies given pairs.

    Args:
        scoring: Scores the pairs.
        relevance: Tells which pairs are of one label.
        pairs: (k, 2) int64, rows of the queries and of the gallery.
        rates: The FARs asked for.
        equal_error: Whether the equal error rate is asked for.
        execution: How the work is done.

    Raises:
        ValueError: No genuine or no impostor pair.
    """
    from keras_bct.evaluation.engine.kernels.impostors import scan_pairs

    rows, columns = np.ascontiguousarray(pairs.T)
    first = relevance.query_codes[rows].astype(np.int32)
    second = relevance.gallery_codes[columns].astype(np.int32)
    genuine_pairs = int(np.count_nonzero(first == second))
    total = len(rows) - genuine_pairs
    if not genuine_pairs or not total:
        raise ValueError(
            "`pairs` should hold pairs of one label and pairs of two. Received: "
            f"{genuine_pairs} of one label and {total} of two."
        )
    # The equal error rate may lie anywhere, so it needs all impostors.
    depth = total if equal_error else 0
    for rate in rates:
        depth = max(depth, min(total, depth_for(allowed_above(rate, total))))
    grid = _grid_over(scoring, rows, columns)
    tail = _RunningTail(depth)

    def score(start: int) -> tuple[Integers, Floats, Integers, Floats, Integers]:
        block = slice(start, start + _PAIRS_PER_BLOCK)
        scores = scoring.exact(rows[block], columns[block])
        histogram = np.zeros(grid.buckets, np.int64)
        genuine = np.empty(len(scores), np.int64)
        kept = np.empty(len(scores), np.int64)
        found, held = scan_pairs(
            scores,
            first[block],
            second[block],
            grid.low,
            1 / grid.width,
            tail.cut,
            histogram,
            genuine,
            kept,
        )
        genuine, kept = genuine[:found], kept[:held]
        return histogram, scores[genuine], genuine + start, scores[kept], kept + start

    histogram = np.zeros(grid.buckets, np.int64)
    genuine_scores, genuine_at = [], []
    with progress_bar(len(rows), "pairs", "pair", execution.progress) as bar:
        starts = range(0, len(rows), _PAIRS_PER_BLOCK)
        for counted, scores, at, kept_scores, kept_at in ordered_map(
            score, starts, execution.threads
        ):
            histogram += counted
            genuine_scores.append(scores)
            genuine_at.append(at)
            tail.add(kept_scores, kept_at)
            bar.update(min(_PAIRS_PER_BLOCK, len(rows) - int(bar.n)))
    scores, at = tail.finish()
    impostors = ImpostorTail.sort(
        scores, first[at], second[at], complete=len(scores) == total
    )
    genuine = GenuineScores(
        np.concatenate(genuine_scores),
        first[np.concatenate(genuine_at)],
        np.ones(genuine_pairs),
    )
    thresholds = {rate: threshold_at(impostors, rate, total) for rate in rates}
    error = None
    if equal_error:
        error = _equal_error(impostors.scores, genuine.scores)
    return VerificationStatistics(
        relevance.identities,
        genuine,
        {rate: impostors for rate in rates},
        thresholds,
        {rate: genuine.share_above(thresholds[rate]) for rate in rates},
        genuine_pairs,
        ListedPairCounts.of(first, second),
        error,
        impostors if equal_error else None,
        ScoreHistogram(grid.edges, np.cumsum(histogram[::-1])[::-1]),
        scoring.to_distance,
    )


class _RunningTail:
    """The highest scores of a stream."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._parts: list[tuple[Floats, Integers]] = []
        self._held = 0
        self.cut = -np.inf

    def add(self, scores: Floats, at: Integers) -> None:
        self._parts.append((scores, at))
        self._held += len(scores)
        if self._held > 2 * self._depth + _PAIRS_PER_BLOCK:
            self._prune()

    def finish(self) -> tuple[Floats, Integers]:
        self._prune()
        return self._parts[0]

    def _prune(self) -> None:
        scores, at = (np.concatenate(c) for c in zip(*self._parts, strict=True))
        if len(scores) > self._depth:
            place = len(scores) - self._depth
            self.cut = float(np.partition(scores, place)[place])
            # Ties with the last one stay: a tied group is whole or absent.
            kept = scores >= self.cut
            scores, at = scores[kept], at[kept]
        self._parts, self._held = [(scores, at)], len(scores)


def _equal_error(impostors: Floats, genuine: Floats) -> float:
    """Of all scores, the impostors descending."""
    ascending = np.sort(genuine)
    scores = np.unique(np.concatenate([impostors, genuine]))[::-1]
    far = np.searchsorted(-impostors, -scores, side="right") / len(impostors)
    frr = np.searchsorted(ascending, scores, side="left") / len(genuine)
    return equal_error_rate(np.append(0.0, far), np.append(1.0, frr))


def _grid_over(scoring: Scoring, rows: Integers, columns: Integers) -> ScoreGrid:
    """A grid over the range of some pairs, with room at both ends."""
    some = slice(None, None, max(1, len(rows) // 65536))
    scores = scoring.exact(rows[some], columns[some])
    low, high = float(scores.min()), float(scores.max())
    room = (high - low) / 4
    return ScoreGrid.over(
        max(low - room, scoring.bounds[0]),
        min(high + room, scoring.bounds[1]),
        _BUCKETS,
    )


def listed_rows(
    queries: EmbeddingSet, gallery: EmbeddingSet, pairs: npt.NDArray[Any]
) -> Integers:
    """(k, 2) int64, the rows that a list of pairs names.

    Args:
        queries: m items, the first of each pair.
        gallery: n items, the second of each pair.
        pairs: (k, 2) ids, or integers: rows already.

    Raises:
        ValueError: An id that a side lacks, a row out of range, another shape.
    """
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise ValueError(
            f"`pairs` should have shape (pairs, 2). Received: shape {pairs.shape}."
        )
    columns = []
    for name, ids, wanted in (
        ("queries", queries.ids, pairs[:, 0]),
        ("gallery", gallery.ids, pairs[:, 1]),
    ):
        if wanted.dtype.kind in "iu":
            outside = (wanted < 0) | (wanted >= len(ids))
            if outside.any():
                raise ValueError(
                    f"`pairs` should name rows of `{name}`, 0 to {len(ids) - 1}. "
                    f"Received: {wanted[outside][0]}."
                )
            columns.append(wanted.astype(np.int64))
            continue
        order = np.argsort(ids)
        place = np.minimum(np.searchsorted(ids[order], wanted), len(ids) - 1)
        found = order[place]
        missing = ids[found] != wanted
        if missing.any():
            raise ValueError(
                f"`pairs` should name ids of `{name}`. Received: "
                f"{str(wanted[missing][0])!r} and {int(missing.sum()) - 1} more that "
                "it lacks."
            )
        columns.append(found.astype(np.int64))
    return np.stack(columns, axis=1)
