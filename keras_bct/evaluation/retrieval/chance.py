"""Chance: what a metric comes to where the embeddings know nothing of the labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.rank_counts import RankCounts
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.retrieval.retrieval import per_query_values

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def chance_levels(
    metrics: Sequence[MetricName], relevant: Integers, others: Integers, classes: int
) -> dict[str, float]:
    """The expected value of each metric when every order of the gallery is as likely.

    - Retrieval and identification/rank@k: the mean over the queries of the expectation
      over all orders, in closed form.
    - verification/TAR@FAR=x: x, since a pair of one identity is accepted as rarely as
      any other. The equal error rate: a half.
    - identification/TPIR@FPIR=x: 1 - (1 - x)^(R / N), the probability that the best of
      R mates passes a threshold that the best of N items passes with probability x; at
      most that where a rank is asked for.
    - prototype/accuracy: one of the classes.

    Args:
        metrics: What is measured.
        relevant: (m,) R, the relevant gallery items of each query; those without any
            are left out.
        others: (m,) N - R, the other gallery items that count for it.
        classes: How many labels the gallery has.

    Returns:
        For each metric's name its level. Where no query has a relevant item, as may be
        when pairs are listed, only those of verification.

    Example:
        Of three items one is relevant: first, second or third, each a third of the
        time, for 1, 1/2 and 1/3.

        >>> metric = MetricName.parse("retrieval/mAP")
        >>> levels = chance_levels([metric], np.array([1]), np.array([2]), 2)
        >>> round(levels["retrieval/mAP"], 4) == round((1 + 1 / 2 + 1 / 3) / 3, 4)
        True
    """
    has = relevant > 0
    relevant, others = relevant[has], others[has]
    # One group of items that are all tied: its metrics are means over its orders.
    order = RankCounts(
        np.arange(len(relevant) + 1), relevant, others, np.zeros_like(relevant)
    )
    levels = {}
    for metric in metrics:
        if metric.task != "verification" and not len(relevant):
            continue
        if metric.kind in ("mAP", "mAP@R"):
            values = _average_precision(metric, relevant, others)
        elif metric.task == "retrieval":
            values = per_query_values([metric], order)[metric.name]
        elif metric.kind == "rank":
            values = order.match_at(metric.count or 1)
        elif metric.kind == "TPIR":
            assert metric.rate is not None
            values = 1 - (1 - metric.rate) ** (relevant / (relevant + others))
        elif metric.kind == "TAR":
            values = np.array([metric.rate])
        else:
            values = np.array([0.5 if metric.kind == "EER" else 1 / classes])
        levels[metric.name] = float(np.mean(values))
    return levels


def _average_precision(
    metric: MetricName, relevant: Integers, others: Integers
) -> Floats:
    """(m,) its expectation over all orders of distinct scores.

    Place i is relevant with probability R / N, and of the i - 1 places before it
    (i - 1) (R - 1) / (N - 1) are then expected to be. (Of tied scores the engine takes
    one threshold, which is less.)
    """
    items = relevant + others
    asked = {"mAP": items, "mAP@R": relevant}[metric.kind]
    if metric.count is not None:
        asked = np.full_like(items, metric.count)
    places = np.minimum(asked, items)
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, places.max() + 1))])
    first = harmonic[places]
    share = (relevant - 1) / np.maximum(items - 1, 1)
    expected = relevant / items * (first + share * (places - first))
    return np.asarray(expected / np.minimum(asked, relevant))
