"""A measurement: the values of a protocol's metrics and what bounds them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.bootstrap import IdentityDraws, percentile_interval
from keras_bct.evaluation.identification import IdentificationStatistics
from keras_bct.evaluation.metric_name import MetricName
from keras_bct.evaluation.protocol import Bootstrap, check_confidence
from keras_bct.evaluation.retrieval import RetrievalStatistics
from keras_bct.evaluation.verification import VerificationStatistics

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Measurement:
    """M(queries, gallery): the values of a protocol's metrics, and what bounds them.

    Attributes:
        values: For each metric's name its value.
        counts: How many queries, gallery items, genuine pairs and so on there were.
        warnings: Sentences on what the data cannot resolve.
        bootstrap: How intervals are estimated.
        retrieval: What retrieval kept, where the protocol asks for it.
        verification: What verification kept, where the protocol asks for it.
        identification: What identification kept, where the protocol asks for it.
    """

    values: Mapping[str, float]
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    bootstrap: Bootstrap
    retrieval: RetrievalStatistics | None = None
    verification: VerificationStatistics | None = None
    identification: IdentificationStatistics | None = None
    _replicates: dict[str, Floats] = dataclasses.field(default_factory=dict, repr=False)

    def replicates(self, metric: str) -> Floats:
        """(replicates,) float64: the metric with its identities resampled.

        Measurements over the same items see the same resampled identities.

        Raises:
            KeyError: The metric was not measured.
        """
        if metric not in self.values:
            raise KeyError(
                f"{metric!r} was not measured. Measured: {', '.join(self.values)}."
            )
        if metric not in self._replicates:
            draws = IdentityDraws(self.bootstrap.replicates, self.bootstrap.seed)
            self._replicates[metric] = self._resample(MetricName.parse(metric), draws)
        return self._replicates[metric]

    def interval(self, metric: str, confidence: float = 0.95) -> tuple[float, float]:
        """The two-sided interval of a metric.

        Args:
            metric: Its name.
            confidence: Strictly between 0 and 1.
        """
        check_confidence(confidence)
        return percentile_interval(self.replicates(metric), confidence)

    def identities(self, metric: str) -> int:
        """How many identities the metric's interval resamples."""
        task = MetricName.parse(metric).task
        if self.retrieval is not None and task == "retrieval":
            return len(np.unique(self.retrieval.labels[self.retrieval.answerable]))
        if self.verification is not None and task == "verification":
            return len(self.verification.identities)
        if self.identification is not None and task == "identification":
            return len(np.unique(self.identification.mated_labels))
        raise KeyError(metric)

    def right(self, metric: str) -> Floats:
        """(units,) how right each unit's answer is, from 0 to 1.

        For retrieval the probability that the first place is relevant, per query that
        has a relevant item; for verification whether a genuine pair is accepted; for
        identification whether a mated probe is identified.
        """
        name = MetricName.parse(metric)
        if self.retrieval is not None and name.task == "retrieval":
            return self.retrieval.match_at(1)[self.retrieval.answerable]
        if self.verification is not None and name.rate is not None:
            if name.task == "verification":
                return self.verification.accepted(name.rate)
        if self.identification is not None and name.task == "identification":
            if name.rate is None:
                return self.identification.within_rank(name.count)
            return self.identification.identified(name.rate, name.count)
        raise KeyError(f"{metric!r} has no right and wrong answers.")

    def _resample(self, name: MetricName, draws: IdentityDraws) -> Floats:
        if self.retrieval is not None and name.task == "retrieval":
            return self.retrieval.replicates(name.name, draws)
        if self.verification is not None and name.task == "verification":
            assert name.rate is not None
            return self.verification.replicates(name.rate, draws)[0]
        if self.identification is not None and name.task == "identification":
            if name.rate is None:
                assert name.count is not None
                return self.identification.rank_replicates(name.count, draws)
            return self.identification.replicates(name.rate, name.count, draws)[0]
        raise KeyError(name.name)
