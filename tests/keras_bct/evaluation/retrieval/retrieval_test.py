import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from keras_bct.evaluation import measure

METRICS = (
    "retrieval/mAP",
    "retrieval/mAP@5",
    "retrieval/mAP@R",
    "retrieval/CMC@3",
    "retrieval/recall@3",
    "retrieval/precision@5",
    "retrieval/R-precision",
    "retrieval/nDCG",
    "retrieval/nDCG@5",
)


def by_formula(relevant):
    """Each metric of one ranking without ties: bool, the nearest item first."""
    places = np.arange(1, len(relevant) + 1)
    precision = np.cumsum(relevant) / places
    total = relevant.sum()
    scores = -places[None].astype(float)
    return {
        "retrieval/mAP": average_precision_score(relevant, scores[0]),
        "retrieval/mAP@5": (precision * relevant)[:5].sum() / min(5, total),
        "retrieval/mAP@R": (precision * relevant)[:total].sum() / total,
        "retrieval/CMC@3": float(relevant[:3].any()),
        "retrieval/recall@3": float(relevant[:3].any()),
        "retrieval/precision@5": relevant[:5].mean(),
        "retrieval/R-precision": relevant[:total].mean(),
        "retrieval/nDCG": ndcg_score(relevant[None], scores),
        "retrieval/nDCG@5": ndcg_score(relevant[None], scores, k=5),
    }


def test_every_metric_of_every_query(make_protocol, make_people, reference_scores):
    queries, gallery = make_people()
    scores = reference_scores("cosine", queries, gallery)
    same = queries.labels[:, None] == gallery.labels
    result = measure(make_protocol(*METRICS), queries, gallery)

    for i in range(len(queries)):
        ranked = same[i][np.argsort(-scores[i])]
        expected = by_formula(ranked) if ranked.any() else {}
        for metric in METRICS:
            value = result.retrieval.per_query[metric][i]
            if not expected:
                assert np.isnan(value)
            else:
                assert value == pytest.approx(expected[metric], abs=1e-9)
    for metric in METRICS:
        assert result.values[metric] == pytest.approx(
            np.nanmean(result.retrieval.per_query[metric])
        )


def test_per_class_values_on_request(make_protocol, make_people):
    queries, gallery = make_people()
    result = measure(make_protocol("retrieval/mAP"), queries, gallery)
    classes = result.retrieval.per_class("retrieval/mAP")

    assert len(classes) == 30
    chosen = queries.labels == "person 007"
    assert classes["person 007"] == pytest.approx(
        result.retrieval.per_query["retrieval/mAP"][chosen].mean()
    )


def test_the_whole_curve_of_cumulative_matches(make_protocol, make_people):
    queries, gallery = make_people()
    result = measure(
        make_protocol("retrieval/CMC@1", "retrieval/CMC@7"), queries, gallery
    )

    for k in (1, 7):
        assert np.nanmean(result.retrieval.match_at(k)) == pytest.approx(
            result.values[f"retrieval/CMC@{k}"]
        )
