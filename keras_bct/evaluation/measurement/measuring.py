"""Measuring: from two sets of embeddings to the values of a protocol's metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.counted import counted
from keras_bct.evaluation.engine.block_pass import Consumer, Execution, run_pass
from keras_bct.evaluation.engine.rank_counts import RankCounts
from keras_bct.evaluation.engine.ranking_pass import RankingPass
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.inputs.protocol import Protocol
from keras_bct.evaluation.inputs.relevance import Relevance
from keras_bct.evaluation.inputs.taking_part import (
    label_warnings,
    only,
    takes_part,
    without_label,
)
from keras_bct.evaluation.inputs.templates import pool_templates, refuse_hidden_selves
from keras_bct.evaluation.measurement.measurement import Measurement
from keras_bct.evaluation.retrieval.chance import chance_levels
from keras_bct.evaluation.retrieval.prototypes import measure_prototypes
from keras_bct.evaluation.retrieval.retrieval import (
    RetrievalStatistics,
    per_query_values,
)
from keras_bct.evaluation.verification.all_pairs import AllPairs
from keras_bct.evaluation.verification.identification import IdentificationStatistics
from keras_bct.evaluation.verification.pair_list import (
    listed_rows,
    read_pairs,
    verify_pairs,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def measure(
    protocol: Protocol,
    queries: EmbeddingSet,
    gallery: EmbeddingSet,
    *,
    pairs: npt.NDArray[Any] | None = None,
    execution: Execution | None = None,
) -> Measurement:
    """Measures M(queries, gallery) as the protocol defines it.

    Args:
        protocol: Metrics, distance, first components, excluded pairs.
        queries: m items; those of one template are pooled first. Items without a
            label are left out, and counted.
        gallery: n items; likewise.
        pairs: (k, 2) ids of a query and a gallery item (or of their templates), or
            integers, their rows: verification takes these pairs only, less those that
            are excluded or name an item without a label. None: the file that the
            protocol names, or all pairs.
        execution: How the work is done; no part of the result depends on it.

    Returns:
        The values, and what their intervals need.

    Raises:
        ValueError: The sides do not fit each other or the protocol: sizes that
            differ, no camera where the camera rule needs one, a zero vector with
            cosine, no item with a label, no genuine or impostor pair, no mated or
            non-mated probe, a query that is part of a template of another name.

    Example:
        >>> from keras_bct.evaluation import Source
        >>> side = Source("embeddings", "set.npz")
        >>> protocol = Protocol("toy", side, side, ("retrieval/mAP",), distance="l2")
        >>> gallery = EmbeddingSet(list("abc"), list("xyx"), None, np.eye(3))
        >>> queries = EmbeddingSet(["q"], ["x"], None, np.array([[0.9, 0.5, 0.1]]))
        >>> round(measure(protocol, queries, gallery).values["retrieval/mAP"], 4)
        0.8333
    """
    execution = execution or Execution()
    unlabelled = without_label(queries=queries, gallery=gallery)
    if "self" in protocol.exclude:
        refuse_hidden_selves(queries, gallery)
    if queries.templates is not None:
        queries = pool_templates(queries)
    if gallery.templates is not None:
        gallery = pool_templates(gallery)
    metrics = protocol.metric_names
    tasks = {metric.task for metric in metrics}
    if pairs is None and protocol.pairs is not None and "verification" in tasks:
        pairs = read_pairs(protocol.locate(protocol.pairs))
    asking = takes_part("queries", queries, protocol.exclude)
    stored = takes_part("gallery", gallery, protocol.exclude)
    listed = None if pairs is None else listed_rows(queries, gallery, pairs)
    queries, gallery = only(queries, asking), only(gallery, stored)
    scoring = Scoring.of(protocol.distance, queries, gallery, protocol.first_components)
    relevance = Relevance.of(queries, gallery, protocol.exclude)
    _check_answers(metrics, relevance, all_pairs=listed is None)
    pairs_left_out = 0
    if listed is not None:
        pairs_left_out = len(listed)
        listed = _counted(listed, asking, stored, relevance)
        pairs_left_out -= len(listed)

    ranking = None
    best = np.zeros((len(queries), 3), np.int64)
    retrieval_metrics = [m for m in metrics if m.task == "retrieval"]
    per_query = {m.name: np.full(len(queries), np.nan) for m in retrieval_metrics}

    def take_counts(rows: slice, counts: RankCounts) -> None:
        best[rows] = counts.best_groups()
        for name, values in per_query_values(retrieval_metrics, counts).items():
            per_query[name][rows] = values

    consumers: list[Consumer] = []
    if tasks & {"retrieval", "identification"}:
        ranking = RankingPass(scoring, take_counts)
        consumers.append(ranking)
    all_pairs = None
    verification = None
    rates = [m.rate for m in metrics if m.task == "verification" and m.rate]
    equal_error = any(m.kind == "EER" for m in metrics)
    if "verification" in tasks and listed is None:
        all_pairs = AllPairs(
            scoring,
            relevance,
            queries,
            gallery,
            rates,
            equal_error,
            protocol.bootstrap.seed,
            execution,
        )
        consumers.extend(all_pairs.consumers)
    if consumers:
        run_pass(scoring, relevance, consumers, execution, "all pairs")
    if all_pairs is not None:
        verification = all_pairs.finish()
    elif listed is not None and "verification" in tasks:
        verification = verify_pairs(
            scoring, relevance, listed, rates, equal_error, execution
        )

    answerable = relevance.kept_members > 0
    counts = {
        "queries": len(queries),
        "gallery": len(gallery),
        "queries_without_relevant": int((~answerable).sum()),
        **unlabelled,
    }
    retrieval = None
    if retrieval_metrics:
        retrieval = RetrievalStatistics(queries.labels, per_query, best)
    identification = None
    if ranking is not None and "identification" in tasks:
        known = relevance.known
        mated = known & answerable
        identification = IdentificationStatistics(
            queries.labels[mated],
            ranking.best_scores[mated],
            best[mated],
            queries.labels[~known],
            ranking.best_scores[~known],
            scoring.to_distance,
        )
        counts["mated_probes"] = int(mated.sum())
        counts["non_mated_probes"] = int((~known).sum())
    if verification is not None:
        counts["genuine_pairs"] = verification.genuine_total
        counts["impostor_pairs"] = verification.pairs.total
        if listed is not None:
            counts["listed_pairs_left_out"] = pairs_left_out
    prototype = None
    if "prototype" in tasks:
        prototype = measure_prototypes(protocol, queries, gallery, relevance, execution)
    kept = Measurement(
        values={},
        counts=counts,
        warnings=label_warnings(counts) + _warn(metrics, counts),
        bootstrap=protocol.bootstrap,
        retrieval=retrieval,
        verification=verification,
        identification=identification,
        prototype=prototype,
        chance=chance_levels(
            metrics,
            relevance.kept_members,
            relevance.others,
            len(np.unique(gallery.labels)),
        ),
    )
    values = {metric.name: kept.evaluate(metric) for metric in metrics}
    return dataclasses.replace(kept, values=values)


def _counted(
    listed: Integers,
    asking: npt.NDArray[np.bool_],
    stored: npt.NDArray[np.bool_],
    relevance: Relevance,
) -> Integers:
    """The listed pairs that count, as rows of what takes part."""
    rows, columns = listed[asking[listed[:, 0]] & stored[listed[:, 1]]].T
    rows = (np.cumsum(asking) - 1)[rows]
    columns = (np.cumsum(stored) - 1)[columns]
    genuine = relevance.query_codes[rows] == relevance.gallery_codes[columns]
    counts = ~(genuine & relevance.excluded(rows, columns))
    return np.stack([rows[counts], columns[counts]], axis=1)


def _check_answers(
    metrics: Sequence[MetricName], relevance: Relevance, all_pairs: bool
) -> None:
    """Refuses metrics that have no answer on this data, before any work."""
    tasks = {metric.task for metric in metrics}
    queries, known = len(relevance.query_codes), relevance.known
    answerable = relevance.kept_members > 0
    if not answerable.any() and (
        tasks & {"retrieval", "identification", "prototype"}
        or ("verification" in tasks and all_pairs)
    ):
        raise ValueError(
            "`queries` should have at least one whose label the gallery holds (in an "
            "item that is not excluded). Received: "
            f"{counted(queries, 'query', 'queries')}, none of them."
        )
    if "verification" in tasks and all_pairs and relevance.impostors() == 0:
        raise ValueError(
            "verification needs impostor pairs: a query and a gallery item of two "
            "labels. Received a single label."
        )
    open_set = any(m.kind == "TPIR" for m in metrics)
    if open_set and known.all():
        raise ValueError(
            "identification needs non-mated probes: queries whose label the gallery "
            f"lacks. Received: {counted(queries, 'query', 'queries')}, all of them "
            "mated. Leave identification/TPIR out, or add such queries."
        )


def _warn(metrics: Sequence[MetricName], counts: dict[str, int]) -> tuple[str, ...]:
    """Says what was left out of a list, and which rates the negatives cannot tell."""
    warnings = []
    if counts.get("listed_pairs_left_out"):
        warnings.append(
            f"{counts['listed_pairs_left_out']:,} of the listed pairs were left out: "
            "an item has no label or is junk, or `exclude` takes the pair out."
        )
    for metric in metrics:
        if metric.rate is None:
            continue
        if metric.task == "verification":
            negatives, noun = counts["impostor_pairs"], "impostor pairs"
        else:
            negatives, noun = counts["non_mated_probes"], "non-mated probes"
        if metric.rate * negatives < 1:
            warnings.append(
                f"{metric.name}: {negatives} {noun} resolve no rate below "
                f"{1 / negatives:.3g}; the value counts what scores above all of them."
            )
    return tuple(warnings)
