"""A measurement: the values of a protocol's metrics and what bounds them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.bootstrap import IdentityDraws, percentile_interval
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.inputs.protocol import Bootstrap, check_confidence
from keras_bct.evaluation.retrieval.retrieval import RetrievalStatistics
from keras_bct.evaluation.verification.identification import IdentificationStatistics
from keras_bct.evaluation.verification.verification import VerificationStatistics

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
        prototype: What prototype classification kept, where the protocol asks for it.
        chance: For each metric's name what it comes to by chance.
    """

    values: Mapping[str, float]
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    bootstrap: Bootstrap
    retrieval: RetrievalStatistics | None = None
    verification: VerificationStatistics | None = None
    identification: IdentificationStatistics | None = None
    prototype: RetrievalStatistics | None = None
    chance: Mapping[str, float] = dataclasses.field(default_factory=dict)
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
            self._replicates[metric] = self._resample(MetricName.parse(metric))
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
        statistics = self._statistics(MetricName.parse(metric))
        if isinstance(statistics, RetrievalStatistics):
            return len(np.unique(statistics.labels[statistics.answerable]))
        if isinstance(statistics, VerificationStatistics):
            return len(statistics.identities)
        return len(np.unique(statistics.mated_labels))

    def evaluate(self, name: MetricName) -> float:
        """The value of a metric from what the evaluation kept."""
        statistics = self._statistics(name)
        if isinstance(statistics, VerificationStatistics):
            if name.rate is not None:
                return statistics.value(name.rate)
            assert statistics.equal_error is not None
            return statistics.equal_error
        if isinstance(statistics, IdentificationStatistics):
            if name.rate is not None:
                return statistics.value(name.rate, name.count)
            return float(statistics.within_rank(name.count).mean())
        return statistics.value(name.name)

    def threshold(self, metric: str) -> float:
        """The threshold of TAR@FAR or TPIR@FPIR in the protocol's distance.

        A pair is accepted when its similarity is higher than this, or for l2 when its
        distance is lower.
        """
        name = MetricName.parse(metric)
        statistics = self._statistics(name)
        if name.rate is not None:
            if isinstance(statistics, VerificationStatistics):
                return statistics.to_distance(statistics.thresholds[name.rate])
            if isinstance(statistics, IdentificationStatistics):
                return statistics.to_distance(statistics.threshold(name.rate))
        raise KeyError(f"{metric!r} has no threshold.")

    def threshold_interval(
        self, metric: str, confidence: float = 0.95
    ) -> tuple[float, float]:
        """The two-sided interval of a threshold.

        Args:
            metric: TAR@FAR or TPIR@FPIR.
            confidence: Strictly between 0 and 1.
        """
        check_confidence(confidence)
        name = MetricName.parse(metric)
        statistics = self._statistics(name)
        if name.rate is None or isinstance(statistics, RetrievalStatistics):
            raise KeyError(f"{metric!r} has no threshold.")
        if isinstance(statistics, VerificationStatistics):
            thresholds = statistics.replicates(name.rate, self._draws)[1]
        else:
            thresholds = statistics.replicates(name.rate, name.count, self._draws)[1]
        ends = percentile_interval(thresholds, confidence)
        low, high = sorted(statistics.to_distance(end) for end in ends)
        return low, high

    def right(self, metric: str) -> Floats:
        """(units,) how right each unit's answer is, from 0 to 1.

        For retrieval the probability that the first place is relevant, per query that
        has a relevant item; for verification whether a genuine pair is accepted; for
        identification whether a mated probe is identified; for prototypes whether the
        nearest class is the right one.

        Raises:
            KeyError: The metric has no single answers.
        """
        name = MetricName.parse(metric)
        statistics = self._statistics(name)
        if isinstance(statistics, RetrievalStatistics):
            return statistics.match_at(1)[statistics.answerable]
        if isinstance(statistics, IdentificationStatistics):
            if name.rate is None:
                return statistics.within_rank(name.count)
            return statistics.identified(name.rate, name.count)
        if name.rate is None:
            raise KeyError(f"{metric!r} has no right and wrong answers.")
        return statistics.accepted(name.rate)

    @property
    def _draws(self) -> IdentityDraws:
        return IdentityDraws(self.bootstrap.replicates, self.bootstrap.seed)

    def _statistics(
        self, name: MetricName
    ) -> RetrievalStatistics | VerificationStatistics | IdentificationStatistics:
        statistics = {
            "retrieval": self.retrieval,
            "verification": self.verification,
            "identification": self.identification,
            "prototype": self.prototype,
        }[name.task]
        if statistics is None:
            raise KeyError(f"{name.name!r} was not measured.")
        return statistics

    def _resample(self, name: MetricName) -> Floats:
        statistics = self._statistics(name)
        if isinstance(statistics, RetrievalStatistics):
            return statistics.replicates(name.name, self._draws)
        if isinstance(statistics, VerificationStatistics):
            if name.rate is None:
                return statistics.equal_error_replicates(self._draws)
            return statistics.replicates(name.rate, self._draws)[0]
        if name.rate is None:
            return statistics.rank_replicates(name.count or 1, self._draws)
        return statistics.replicates(name.rate, name.count, self._draws)[0]
