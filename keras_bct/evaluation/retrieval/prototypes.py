"""Prototype classification: a class is the mean of its gallery embeddings.

Where the protocol excludes gallery items for a query (itself, or those of its own
camera), the mean of its class is taken without them: a query is near a mean that
contains it, whatever the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_bct.evaluation.engine.block_pass import Block, Execution, run_pass
from keras_bct.evaluation.engine.rank_counts import RankCounts
from keras_bct.evaluation.engine.ranking_pass import RankingPass
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.protocol import Protocol
from keras_bct.evaluation.inputs.relevance import Relevance
from keras_bct.evaluation.inputs.taking_part import only, takes_part
from keras_bct.evaluation.retrieval.retrieval import RetrievalStatistics


def prototypes_of(gallery: EmbeddingSet) -> EmbeddingSet:
    """The mean raw embedding of each class.

    Args:
        gallery: n items of k labels; those without one are in no mean.

    Returns:
        k items in the order of the labels; a label is its own id.

    Raises:
        ValueError: No item has a label.

    Example:
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 4.0]])
        >>> prototypes_of(
        ...     EmbeddingSet(list("abc"), list("xxy"), None, rows)
        ... ).embeddings.tolist()
        [[0.5, 0.5], [0.0, 4.0]]
    """
    gallery = only(gallery, takes_part("gallery", gallery, ()))
    labels, code = np.unique(gallery.labels, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(labels)))
    ends = np.append(starts[1:], len(order))
    means = np.empty((len(labels), gallery.embedding_size), np.float32)
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        rows = gallery.embeddings[order[start:end]]
        means[i] = rows.mean(axis=0, dtype=np.float64)
    return EmbeddingSet(labels, labels, None, means)


def measure_prototypes(
    protocol: Protocol,
    queries: EmbeddingSet,
    gallery: EmbeddingSet,
    relevance: Relevance,
    execution: Execution,
) -> RetrievalStatistics:
    """Gives each query the nearest class mean: retrieval among the classes.

    Args:
        protocol: Distance and first components.
        queries: m items.
        gallery: n items.
        relevance: Which gallery items are excluded for each query.
        execution: How the work is done.

    Returns:
        The accuracy, NaN for queries whose class has no item that is not excluded.
    """
    classes = prototypes_of(gallery)
    scoring = Scoring.of(protocol.distance, queries, classes, protocol.first_components)
    best = np.zeros((len(queries), 3), np.int64)

    def take_counts(rows: slice, counts: RankCounts) -> None:
        best[rows] = counts.best_groups()

    consumer = _PrototypePass(
        scoring, take_counts, protocol, queries, gallery, relevance
    )
    of_classes = Relevance.of(queries, classes, ())
    run_pass(scoring, of_classes, (consumer,), execution, "prototypes")
    statistics = RetrievalStatistics(queries.labels, {}, best)
    accuracy = {"prototype/accuracy": statistics.match_at(1)}
    return dataclasses.replace(statistics, per_query=accuracy)


class _PrototypePass(RankingPass):
    """Ranks the class means, each query's own class without what is excluded for it."""

    def __init__(
        self,
        scoring: Scoring,
        consume: Callable[[slice, RankCounts], None],
        protocol: Protocol,
        queries: EmbeddingSet,
        gallery: EmbeddingSet,
        relevance: Relevance,
    ) -> None:
        super().__init__(scoring, consume)
        self._protocol, self._queries, self._gallery = protocol, queries, gallery
        self._relevance = relevance

    def open(self, block: Block) -> Any:
        """Scores each query's own class before any other."""
        from keras_bct.evaluation.engine.kernels.kept_means import kept_means

        items = self._relevance.members(block.rows)
        concerned = np.unique(items.rows[~items.kept])
        if not len(concerned):
            return super().open(block)
        means = np.empty(
            (len(items.offsets) - 1, self._gallery.embedding_size), np.float32
        )
        rows = np.asarray(self._gallery.embeddings)
        kept_means(rows, items.offsets, items.columns, items.kept, means)
        # A query has one class, so its offset is the place of its pair with the mean.
        place = block.members.offsets
        kept, scores = block.members.kept.copy(), block.scores.copy()
        left = ~np.isnan(means[concerned, 0])
        kept[place[concerned]] = left
        concerned = concerned[left]
        if len(concerned):
            queries = self._queries.take(block.rows.start + concerned)
            names = np.char.add(np.char.add(queries.labels, " without "), queries.ids)
            own = Scoring.of(
                self._protocol.distance,
                queries,
                EmbeddingSet(names, queries.labels, None, means[concerned]),
                self._protocol.first_components,
            )
            pairs = np.arange(len(concerned))
            scores[place[concerned]] = own.exact(pairs, pairs)
        members = dataclasses.replace(block.members, kept=kept)
        return super().open(Block(block.rows, members, scores))
