"""Rank merge: search the old and the new space, and keep the smaller distance.

While a gallery is being backfilled an item lies in the old index, in the new one, or in
both. Each is asked by the query of its own version, and the answers are merged. It is a
way to search and no map: it takes both embeddings of every query, and distances that
mean alike in both spaces, as cosines nearly do.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.backfilling.gallery_versions import VersionTiles
from keras_bct.evaluation.engine.block_pass import Block, Execution, run_blocks
from keras_bct.evaluation.engine.rank_counts import RankCounts
from keras_bct.evaluation.engine.ranking_pass import RankingPass
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet, check_same_items
from keras_bct.evaluation.inputs.protocol import Protocol
from keras_bct.evaluation.inputs.relevance import Relevance
from keras_bct.evaluation.inputs.taking_part import (
    label_warnings,
    only,
    takes_part,
    without_label,
)
from keras_bct.evaluation.inputs.templates import refuse_templates
from keras_bct.evaluation.measurement.measurement import Measurement
from keras_bct.evaluation.retrieval.nearest import Nearest
from keras_bct.evaluation.retrieval.retrieval import (
    RetrievalStatistics,
    per_query_values,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]


def merge_nearest(one: Nearest, other: Nearest) -> Nearest:
    """Merge the answers of two indices: each item once, at its smaller distance.

    The result is exact where both lists are: an item among the k nearest of the merge
    is among the k nearest of the index in which it is nearer. An index that holds
    fewer than k items gives all of them.

    Args:
        one: (m, k) of the first index.
        other: (m, l) of the second, whose items have the numbers of the first; l is k,
            or all that the index holds.

    Returns:
        (m, max(k, l)), equal distances by item.

    Raises:
        ValueError: Lists of different queries.

    Example:
        >>> old = Nearest(np.array([[4, 7]]), np.array([[0.2, 0.5]]))
        >>> new = Nearest(np.array([[7, 9]]), np.array([[0.1, 0.3]]))
        >>> merge_nearest(old, new).items.tolist()
        [[7, 4]]

    References:
        Seo et al., Metric Compatible Training for Online Backfilling in Large-Scale
        Retrieval, WACV 2025: distance rank merge.
    """
    if len(one.items) != len(other.items):
        raise ValueError(
            "`one` and `other` should answer the same queries. Received: "
            f"{len(one.items)} and {len(other.items)}."
        )
    count = max(one.items.shape[1], other.items.shape[1])
    items = np.hstack([one.items, other.items])
    distances = np.hstack([one.distances, other.distances])
    # Of an item that occurs twice the second, which is no nearer, goes to the end.
    order = np.lexsort((distances, items), axis=1)
    items = np.take_along_axis(items, order, axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    distances[:, 1:][items[:, 1:] == items[:, :-1]] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return Nearest(
        np.take_along_axis(items, order, axis=1),
        np.take_along_axis(distances, order, axis=1),
    )


def measure_rank_merge(
    protocol: Protocol,
    *,
    old_queries: EmbeddingSet,
    old_gallery: EmbeddingSet,
    new_queries: EmbeddingSet,
    new_gallery: EmbeddingSet,
    execution: Execution | None = None,
) -> Measurement:
    """Measure retrieval by rank merge, as one more row beside M(new, old).

    A pair's score is the better of both spaces' scores. It is computed in blocks, and
    its measurement can be compared with others of the same items
    (`compare_measurements`).

    Args:
        protocol: Retrieval metrics, distance, excluded pairs.
        old_queries: m items by the old version. Items without a label are left out,
            and counted.
        old_gallery: n items by the old version; likewise.
        new_queries: The same queries, in the same order, by the new version.
        new_gallery: Those gallery items that have been embedded anew, in any order.
        execution: How the work is done.

    Raises:
        ValueError: Metrics of other tasks, queries that differ, new items that the old
            gallery lacks, templates, or what `measure` refuses.
    """
    execution = execution or Execution()
    metrics = protocol.metric_names
    others = [metric.name for metric in metrics if metric.task != "retrieval"]
    if others or protocol.first_components is not None or "junk" in protocol.exclude:
        raise ValueError(
            "`protocol` should ask for retrieval alone, with all components and "
            "without junk: each space is searched by its own version. Received: "
            f"{others or protocol.exclude}, first_components "
            f"{protocol.first_components}."
        )
    for name, side in (
        ("old_queries", old_queries),
        ("old_gallery", old_gallery),
        ("new_gallery", new_gallery),
    ):
        refuse_templates(name, side)
    check_same_items("new_queries", new_queries, "old_queries", old_queries)
    unlabelled = without_label(queries=old_queries, gallery=old_gallery)
    asking = takes_part("old_queries", old_queries, ())
    old_queries, new_queries = only(old_queries, asking), only(new_queries, asking)
    old_gallery = only(old_gallery, takes_part("old_gallery", old_gallery, ()))
    new_gallery = only(new_gallery, takes_part("new_gallery", new_gallery, ()))
    scoring = _MergedScoring.of(
        protocol.distance,
        (old_queries, old_gallery),
        (new_queries, _in_order(new_gallery, old_gallery)),
        np.isin(old_gallery.ids, new_gallery.ids),
    )
    relevance = Relevance.of(old_queries, old_gallery, protocol.exclude)
    if not (relevance.kept_members > 0).any():
        raise ValueError(
            "`old_queries` should have at least one whose label the gallery holds. "
            "Received none."
        )
    best = np.zeros((len(old_queries), 3), np.int64)
    per_query = {metric.name: np.full(len(best), np.nan) for metric in metrics}

    def take_counts(rows: slice, counts: RankCounts) -> None:
        best[rows] = counts.best_groups()
        for name, values in per_query_values(metrics, counts).items():
            per_query[name][rows] = values

    _rank(scoring, relevance, RankingPass(scoring, take_counts), execution)
    statistics = RetrievalStatistics(old_queries.labels, per_query, best)
    return Measurement(
        values={metric.name: statistics.value(metric.name) for metric in metrics},
        counts={
            "queries": len(old_queries),
            "gallery": len(old_gallery),
            "queries_without_relevant": int((relevance.kept_members == 0).sum()),
            **unlabelled,
        },
        warnings=label_warnings(unlabelled),
        bootstrap=protocol.bootstrap,
        retrieval=statistics,
    )


def _in_order(new: EmbeddingSet, old: EmbeddingSet) -> EmbeddingSet:
    """The new embeddings in the rows of the old gallery; any where there is none."""
    order = np.argsort(old.ids, kind="stable")
    place = np.searchsorted(old.ids[order], new.ids).clip(0, len(order) - 1)
    rows = order[place]
    for column in ("ids", "labels"):
        differ = getattr(old, column)[rows] != getattr(new, column)
        if differ.any():
            item = int(np.flatnonzero(differ)[0])
            raise ValueError(
                "`new_gallery` should hold items of `old_gallery`, labelled alike. "
                f"Received: id {str(new.ids[item])!r} with label "
                f"{str(new.labels[item])!r}."
            )
    embeddings = np.empty((len(old), new.embedding_size), np.float32)
    embeddings[:] = new.embeddings[0]
    embeddings[rows] = new.embeddings
    return EmbeddingSet(old.ids, old.labels, old.cameras, embeddings)


@dataclasses.dataclass(frozen=True, eq=False)
class _MergedScoring:
    """The better of two scores, on the scale of the old space's product.

    Attributes:
        old: Scores in the old space.
        new: Scores in the new space.
        absent: (n,) bool, items that the new index lacks.
        shift: (m,) float64, what brings the new product to the old one's scale.
        tolerance: As of `Scoring`.
    """

    old: Scoring
    new: Scoring
    absent: npt.NDArray[np.bool_]
    shift: Floats
    tolerance: Floats

    @classmethod
    def of(
        cls,
        distance: str,
        old: tuple[EmbeddingSet, EmbeddingSet],
        new: tuple[EmbeddingSet, EmbeddingSet],
        present: npt.NDArray[np.bool_],
    ) -> _MergedScoring:
        one, other = Scoring.of(distance, *old), Scoring.of(distance, *new)
        shift = (other.offset - one.offset) / one.slope
        widest = np.maximum(one.tolerance, other.tolerance)
        # Adding the shift rounds once more.
        return cls(one, other, ~present, shift, widest + 2.0**-23 * np.abs(shift))

    @property
    def left(self) -> Singles:
        """The queries, to be counted."""
        return self.old.left

    @property
    def right(self) -> Singles:
        """The gallery, to be counted."""
        return self.old.right

    def exact(self, rows: Integers, columns: Integers) -> Floats:
        """(pairs,) float64: the better exact score."""
        new = self.new.exact(rows, columns)
        new[self.absent[columns]] = -np.inf
        return np.maximum(self.old.exact(rows, columns), new)

    def to_product(self, scores: Floats, rows: Any) -> Floats:
        """Exact scores on the scale of the old space's product."""
        return self.old.to_product(scores, rows)


def _rank(
    scoring: _MergedScoring,
    relevance: Relevance,
    ranking: RankingPass,
    execution: Execution,
) -> None:
    """Gives the better product of every pair to the ranking, a tile at a time."""
    tiles = VersionTiles(scoring.old, scoring.new, execution)

    def work(rows: slice, stop: threading.Event) -> None:
        members = relevance.members(rows)
        exact = scoring.exact(members.rows + rows.start, members.columns)
        state = ranking.open(Block(rows, members, exact))
        shift = scoring.shift[rows, None].astype(np.float32)
        for columns, scores, new in tiles.of(rows, members, stop):
            new += shift
            new[:, scoring.absent[columns]] = -np.inf
            np.maximum(scores, new, out=scores)
            ranking.take(state, scores, columns)
        if not stop.is_set():
            ranking.close(state)

    run_blocks(len(scoring.left), tiles.block_rows, work, execution, "rank merge")
