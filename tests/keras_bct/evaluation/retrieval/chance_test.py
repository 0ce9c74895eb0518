"""Chance levels, against all orders of a small gallery and against random scores."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from keras_bct.evaluation import EmbeddingSet, Protocol, Source, measure
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.retrieval.chance import chance_levels

TRUTH = np.array([1, 1, 0, 0, 0])


def at_most(places):
    """Precision at each relevant place, of the first places, by min(places, R)."""

    def value(order):
        return sum(order[: i + 1].mean() for i in range(places) if order[i]) / min(
            places, order.sum()
        )

    return value


def ndcg(places=None):
    def value(order):
        return ndcg_score([order], [np.arange(len(order))[::-1]], k=places)

    return value


@pytest.mark.parametrize(
    ("metric", "of_one_order"),
    [
        (
            "retrieval/mAP",
            lambda order: average_precision_score(order, -np.arange(len(order))),
        ),
        ("retrieval/mAP@3", at_most(3)),
        ("retrieval/mAP@9", at_most(5)),
        ("retrieval/mAP@R", at_most(2)),
        ("retrieval/CMC@2", lambda order: order[:2].any()),
        ("retrieval/precision@3", lambda order: order[:3].mean()),
        ("retrieval/R-precision", lambda order: order[:2].mean()),
        ("retrieval/nDCG", ndcg()),
        ("retrieval/nDCG@3", ndcg(3)),
        ("identification/rank@2", lambda order: order[:2].any()),
    ],
)
def test_is_the_mean_over_all_orders(metric, of_one_order):
    orders = [np.array(order) for order in set(itertools.permutations(TRUTH))]
    wanted = np.mean([of_one_order(order) for order in orders])
    found = chance_levels([MetricName.parse(metric)], np.array([2]), np.array([3]), 3)
    assert found[metric] == pytest.approx(wanted, abs=1e-12)


def test_queries_without_a_relevant_item_are_left_out():
    metric = MetricName.parse("retrieval/CMC@1")
    relevant, others = np.array([1, 0, 3]), np.array([3, 4, 1])
    levels = chance_levels([metric], relevant, others, 4)
    assert levels == {"retrieval/CMC@1": (1 / 4 + 3 / 4) / 2}
    none = np.zeros(2, int)
    pairs = MetricName.parse("verification/TAR@FAR=0.01")
    levels = chance_levels([metric, pairs], none, others[:2], 4)
    assert levels == {"verification/TAR@FAR=0.01": 0.01}


ALL = (
    "retrieval/mAP",
    "retrieval/CMC@5",
    "retrieval/nDCG",
    "verification/TAR@FAR=0.1",
    "verification/EER",
    "identification/rank@5",
    "identification/TPIR@FPIR=0.1",
    "prototype/accuracy",
)


def noise(seed, names, labels):
    rows = np.random.default_rng(seed).normal(size=(len(labels), 16))
    return EmbeddingSet([f"{names}{i}" for i in range(len(labels))], labels, None, rows)


def test_is_what_embeddings_of_noise_come_to():
    side = Source("embeddings", "set.npz")
    protocol = Protocol("noise", side, side, ALL)
    known = [f"class-{i % 20}" for i in range(60)]
    strangers = [f"stranger-{i % 20}" for i in range(400)]
    measured = [
        measure(
            protocol, noise(seed, "q", known + strangers), noise(-seed + 99, "g", known)
        )
        for seed in range(30)
    ]
    for metric in ALL:
        values = np.array([m.values[metric] for m in measured])
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - measured[0].chance[metric]) < 4 * error, metric
