"""Measuring: from two sets of embeddings to the values of a protocol's metrics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.acceptance import (
    GenuineScores,
    ImpostorTail,
    threshold_at,
)
from keras_bct.evaluation.embedding_set import EmbeddingSet
from keras_bct.evaluation.identification import IdentificationStatistics
from keras_bct.evaluation.measurement import Measurement
from keras_bct.evaluation.protocol import Protocol
from keras_bct.evaluation.rank_counts import RankCounts
from keras_bct.evaluation.retrieval import RetrievalStatistics, per_query_values
from keras_bct.evaluation.verification import PairCounts, VerificationStatistics

JUNK_LABEL = "-1"
_ROWS = 256


def measure(
    protocol: Protocol, queries: EmbeddingSet, gallery: EmbeddingSet
) -> Measurement:
    """Measures M(queries, gallery) as the protocol defines it.

    Args:
        protocol: Metrics, distance, first components, excluded pairs.
        queries: m items.
        gallery: n items.

    Raises:
        ValueError: The sides do not fit each other or the protocol: widths that
            differ, no camera where the camera rule needs one, a zero vector with
            cosine, no genuine or impostor pair, no mated or non-mated probe.
    """
    if "junk" in protocol.exclude:
        queries = _without_junk("queries", queries)
        gallery = _without_junk("gallery", gallery)
    left, right = (
        _rows(protocol, "queries", queries),
        _rows(protocol, "gallery", gallery),
    )
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            "`queries` and `gallery` should have embeddings of one size, or the "
            f"protocol should set first_components. Received: {left.shape[1]} and "
            f"{right.shape[1]} components."
        )
    if "same_camera" in protocol.exclude and (
        queries.cameras is None or gallery.cameras is None
    ):
        raise ValueError(
            "`exclude: [same_camera]` needs cameras on both sides. Received a side "
            "without; name its `camera` in the protocol."
        )
    tasks = {name.task for name in protocol.metric_names}
    identities, codes = np.unique(
        np.concatenate([queries.labels, gallery.labels]), return_inverse=True
    )
    query_codes, gallery_codes = codes[: len(queries)], codes[len(queries) :]
    known = np.isin(query_codes, gallery_codes)
    warnings: list[str] = []
    if "identification" in tasks:
        if known.all():
            raise ValueError(
                "identification needs non-mated probes: queries whose label the "
                f"gallery lacks. Received: {len(queries)} queries, all mated."
            )
        if not known.any():
            raise ValueError(
                "identification needs mated probes: queries whose label the gallery "
                f"holds. Received: {len(queries)} queries, none mated."
            )
    if "verification" in tasks and not known.any():
        raise ValueError("verification needs genuine pairs. Received none.")
    if not known.any():
        raise ValueError("no query has a relevant gallery item.")

    per_query: list[dict[str, npt.NDArray[np.float64]]] = []
    best = np.zeros((len(queries), 3), np.int64)
    best_score = np.full(len(queries), -np.inf)
    genuine: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]] = []
    tails = []
    retrieval_metrics = [m for m in protocol.metric_names if m.task == "retrieval"]
    for start in range(0, len(queries), _ROWS):
        rows = slice(start, start + _ROWS)
        scores = _scores(protocol.distance, left[rows], right)
        same = query_codes[rows, None] == gallery_codes
        excluded = np.zeros_like(same)
        if "self" in protocol.exclude:
            excluded |= queries.ids[rows, None] == gallery.ids
        if "same_camera" in protocol.exclude:
            assert queries.cameras is not None and gallery.cameras is not None
            excluded |= same & (queries.cameras[rows, None] == gallery.cameras)
        counts = RankCounts.of_scores(scores, same & ~excluded, excluded)
        per_query.append(per_query_values(retrieval_metrics, counts))
        has = np.flatnonzero(np.diff(counts.offsets))
        entry = counts.offsets[:-1][has]
        best[start + has] = np.stack(
            [counts.relevant[entry], counts.tied[entry], counts.above[entry]], axis=1
        )
        mated = known[rows, None]
        best_score[rows] = np.where(~excluded & (same | ~mated), scores, -np.inf).max(
            axis=1
        )
        if "verification" in tasks:
            q, g = np.nonzero(same & ~excluded)
            genuine.append((scores[q, g], query_codes[rows][q]))
            q, g = np.nonzero(~same & ~excluded)
            tails.append((scores[q, g], query_codes[rows][q], gallery_codes[g]))
    retrieval = RetrievalStatistics(
        queries.labels,
        {
            m.name: np.concatenate([part[m.name] for part in per_query])
            for m in retrieval_metrics
        },
        best,
    )
    answerable = retrieval.answerable
    counts_of = {
        "queries": len(queries),
        "gallery": len(gallery),
        "queries_without_relevant": int((~answerable).sum()),
    }
    verification = None
    if "verification" in tasks:
        scores, first, second = (np.concatenate(c) for c in zip(*tails, strict=True))
        tail = ImpostorTail.sort(
            scores, first.astype(np.int32), second.astype(np.int32)
        )
        genuine_scores, genuine_codes = (
            np.concatenate(c) for c in zip(*genuine, strict=True)
        )
        pairs = PairCounts.of_all_pairs(
            np.bincount(query_codes, minlength=len(identities)),
            np.bincount(gallery_codes, minlength=len(identities)),
        )
        rates = [
            m.rate for m in protocol.metric_names if m.task == "verification" and m.rate
        ]
        verification = VerificationStatistics(
            identities,
            GenuineScores(
                genuine_scores,
                genuine_codes.astype(np.int32),
                np.ones(len(genuine_scores)),
            ),
            {rate: tail for rate in rates},
            {rate: threshold_at(tail, rate, pairs.total) for rate in rates},
            pairs,
        )
        counts_of |= {
            "genuine_pairs": len(genuine_scores),
            "impostor_pairs": pairs.total,
        }
        for rate in rates:
            if rate * pairs.total < 1:
                warnings.append(
                    f"FAR={rate:g} is below what {pairs.total} impostor pairs resolve."
                )
    identification = None
    if "identification" in tasks:
        mated_rows = known & answerable
        identification = IdentificationStatistics(
            queries.labels[mated_rows],
            best_score[mated_rows],
            best[mated_rows],
            queries.labels[~known],
            best_score[~known],
        )
        counts_of |= {
            "mated_probes": int(mated_rows.sum()),
            "non_mated_probes": int((~known).sum()),
        }
    values = {}
    for m in protocol.metric_names:
        if m.task == "retrieval":
            values[m.name] = retrieval.value(m.name)
        elif m.task == "verification":
            assert verification is not None and m.rate is not None
            values[m.name] = verification.value(m.rate)
        else:
            assert identification is not None
            values[m.name] = (
                float(identification.within_rank(m.count).mean())
                if m.rate is None
                else identification.value(m.rate, m.count)
            )
    return Measurement(
        values,
        counts_of,
        tuple(warnings),
        protocol.bootstrap,
        retrieval,
        verification,
        identification,
    )


def _without_junk(name: str, items: EmbeddingSet) -> EmbeddingSet:
    kept = items.labels != JUNK_LABEL
    if not kept.any():
        raise ValueError(
            f"`{name}` should hold items that are not junk. Received none."
        )
    return items if kept.all() else items.take(kept)


def _rows(
    protocol: Protocol, name: str, items: EmbeddingSet
) -> npt.NDArray[np.float64]:
    first = protocol.first_components
    if first is not None and first > items.embedding_size:
        raise ValueError(
            f"`first_components` should be at most the {items.embedding_size} "
            f"components of `{name}`. Received: {first}."
        )
    rows = items.embeddings[:, :first].astype(np.float64)
    if protocol.distance != "cosine":
        return rows
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not norms.all():
        row = int(np.flatnonzero(norms == 0)[0])
        raise ValueError(
            f"`{name}` should hold no zero vector, which has no cosine. Received one "
            f"for id {str(items.ids[row])!r}."
        )
    return rows / norms


def _scores(
    distance: str, left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    product = left @ right.T
    if distance != "l2":
        return product
    return 2 * product - (left**2).sum(axis=1)[:, None] - (right**2).sum(axis=1)
