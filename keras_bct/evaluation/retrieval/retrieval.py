"""Retrieval: each query ranks the gallery, and its value is averaged over queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.bootstrap import IdentityDraws, mean_replicates
from keras_bct.evaluation.engine.rank_counts import RankCounts, match_probability
from keras_bct.evaluation.inputs.metric_name import MetricName

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class RetrievalStatistics:
    """What retrieval keeps of an evaluation.

    Attributes:
        labels: (m,) strings, the label of each query.
        per_query: For each metric (m,) float64, NaN for queries without any relevant
            gallery item: they are left out of the mean and counted.
        best: (m, 3) int64, the group of the best relevant score: relevant items, other
            items in it, other items above it; zeros without a relevant item.
    """

    labels: npt.NDArray[np.str_]
    per_query: Mapping[str, Floats]
    best: Integers

    @property
    def answerable(self) -> npt.NDArray[np.bool_]:
        """(m,) whether the query has a relevant item in the gallery."""
        return np.asarray(self.best[:, 0] > 0)

    def value(self, metric: str) -> float:
        """The mean over the queries that have a relevant item."""
        return float(np.nanmean(self.per_query[metric]))

    def replicates(self, metric: str, draws: IdentityDraws) -> Floats:
        """(replicates,) the mean with queries resampled by identity.

        The gallery stays as it is.
        """
        kept = self.answerable
        _, identity = np.unique(self.labels[kept], return_inverse=True)
        return mean_replicates(self.per_query[metric][kept], identity, draws)

    def match_at(self, first: int) -> Floats:
        """(m,) the probability of a relevant item in the first k places, or NaN."""
        values = match_probability(first, *self.best.T)
        return np.where(self.answerable, values, np.nan)

    def per_class(self, metric: str) -> dict[str, float]:
        """The mean value of each label's queries that have a relevant item."""
        kept = self.answerable
        names, identity = np.unique(self.labels[kept], return_inverse=True)
        sums = np.bincount(identity, self.per_query[metric][kept])
        means = sums / np.bincount(identity)
        return dict(zip(names.tolist(), means.tolist(), strict=True))


def per_query_values(
    metrics: Sequence[MetricName], counts: RankCounts
) -> dict[str, Floats]:
    """The value of each query for each retrieval metric.

    Args:
        metrics: Retrieval metrics.
        counts: The rankings of m queries.

    Returns:
        For each metric's name (m,) float64, NaN without a relevant item.
    """
    values = {}
    for metric in metrics:
        if metric.kind == "mAP" and metric.count is None:
            value = counts.average_precision()
        elif metric.kind in ("mAP", "mAP@R"):
            value = counts.average_precision_at(metric.count)
        elif metric.kind in ("CMC", "recall"):
            value = counts.match_at(metric.count or 1)
        elif metric.kind in ("precision", "R-precision"):
            value = counts.precision_at(metric.count)
        else:
            value = counts.discounted_gain(metric.count)
        values[metric.name] = value
    return values
