"""Evidence: the measured numbers of one new version, predecessor and protocol."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from registry.errors import UsageError

if TYPE_CHECKING:
    from registry.metadata.schema import EvidenceRow


@dataclass(frozen=True)
class MetricEvidence:
    """The numbers of one metric.

    Attributes:
        metric: Its name, such as `"retrieval/mAP"`.
        old_old: M(old, old).
        new_old: M(new, old).
        new_new: M(new, new), None where the gallery holds vectors only.
        gain: The update gain (BCT, Eq. 9), None without a paragon or where it is
            undefined.
        low: Lower end of the interval of M(new, old) - M(old, old).
        high: Upper end.
        confidence: Of the interval, two-sided.
        negative_flips: Share of queries that only the old version answers rightly,
            None where the metric has no answers.
    """

    metric: str
    old_old: float
    new_old: float
    new_new: float | None
    gain: float | None
    low: float
    high: float
    confidence: float
    negative_flips: float | None


@dataclass(frozen=True)
class Evidence:
    """What was measured, and on what.

    Attributes:
        new_fingerprint: The version that embeds the queries.
        old_fingerprint: The version that made the gallery.
        paragon_fingerprint: The version at the top of the gain, None without.
        protocol: Absolute path of the protocol file.
        protocol_name: The protocol's own name.
        protocol_digest: SHA-256 of its content, as it was.
        data_digest: SHA-256 over the data that it names, as they were.
        distance: What the embeddings were compared with.
        first_components: K, how many components were compared.
        answer: What the protocol's own gate says: yes, no or undecided.
        reasons: Why.
        seed: Of the bootstrap.
        metrics: The numbers, in the protocol's order.
        comparison: JSON of `keras_bct.evaluation.Comparison`; it holds the
            bootstrap replicates, so another confidence can be asked for later.
        adapter_fingerprint: The map h that the gallery went through, so that M(new,
            old) is M(new, h(old)); None for none. M(old, old) is never mapped.
        created: When it was stored, None before.
        id: Its number in the registry, None before it is stored.
    """

    new_fingerprint: str
    old_fingerprint: str
    paragon_fingerprint: str | None
    protocol: str
    protocol_name: str
    protocol_digest: str
    data_digest: str
    distance: str
    first_components: int
    answer: str
    reasons: tuple[str, ...]
    seed: int
    metrics: tuple[MetricEvidence, ...]
    comparison: str = field(repr=False)
    adapter_fingerprint: str | None = None
    created: datetime | None = None
    id: int | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what the numbers rest on and what they cannot resolve."""
        return tuple(json.loads(self.comparison)["warnings"])

    @property
    def counts(self) -> dict[str, int]:
        """How many items and pairs there were, and how many were left out."""
        counts: dict[str, int] = json.loads(self.comparison)["counts"]
        return counts

    def gain_interval(self, metric: str) -> tuple[float, float] | None:
        """The interval of a metric's gain, as sure as that of its difference.

        Returns:
            Its two ends; None where the gain has no value, or none of its replicates.
        """
        from keras_bct.evaluation import Comparison

        (confidence,) = (m.confidence for m in self.metrics if m.metric == metric)
        measured = Comparison.from_json(self.comparison)[metric]
        interval = measured.gain_interval(confidence)
        return interval if interval and math.isfinite(interval[0]) else None

    @classmethod
    def from_row(cls, row: EvidenceRow) -> Evidence:
        """Reads a row of the database."""
        return cls(
            new_fingerprint=row.new_fingerprint,
            old_fingerprint=row.old_fingerprint,
            paragon_fingerprint=row.paragon_fingerprint,
            protocol=row.protocol,
            protocol_name=row.protocol_name,
            protocol_digest=row.protocol_digest,
            data_digest=row.data_digest,
            distance=row.distance,
            first_components=row.first_components,
            answer=row.answer,
            reasons=tuple(row.reasons),
            seed=row.seed,
            metrics=tuple(
                MetricEvidence(
                    metric=m.metric,
                    old_old=m.old_old,
                    new_old=m.new_old,
                    new_new=m.new_new,
                    gain=m.gain,
                    low=m.low,
                    high=m.high,
                    confidence=m.confidence,
                    negative_flips=m.negative_flips,
                )
                for m in row.metrics
            ),
            comparison=row.comparison,
            adapter_fingerprint=row.adapter_fingerprint,
            created=row.created,
            id=row.id,
        )


def check_evidence(evidence: Evidence) -> None:
    """Raises when the parts of evidence do not say the same.

    An edge follows from the answer, and evidence comes from outside too: out of a
    pipeline's artifact, or made by hand.

    Raises:
        UsageError: The answer or the metrics are not those of the comparison, a number
            cannot be, or an edge would lead from a version to itself.
    """
    from keras_bct.evaluation import Comparison, decide

    try:
        comparison = Comparison.from_json(evidence.comparison)
        answer = decide(comparison).answer
    except (TypeError, ValueError) as error:
        raise UsageError(f"`comparison` cannot be read: {error}") from error
    if answer != evidence.answer:
        raise UsageError(
            f"`answer` should follow from `comparison`, whose gate answers {answer}. "
            f"Received: {evidence.answer!r}."
        )
    names = sorted(metric.metric for metric in evidence.metrics)
    if names != sorted(comparison.metrics):
        raise UsageError(
            "`metrics` should be those of `comparison`, "
            f"{', '.join(comparison.metrics)}. Received: {', '.join(names) or 'none'}."
        )
    if evidence.first_components < 1:
        raise UsageError(
            "`first_components` should be positive: as many as were compared. "
            f"Received: {evidence.first_components}."
        )
    if evidence.answer == "yes" or evidence.adapter_fingerprint is not None:
        refuse_itself(evidence.new_fingerprint, evidence.old_fingerprint)
    for metric in evidence.metrics:
        for name, value in vars(metric).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(
                    f"`{name}` of {metric.metric} should be finite. Received: {value}."
                )


def refuse_itself(new: str, old: str) -> None:
    """Raises when an edge would lead from a version to itself.

    A version may be measured against itself, to know M(old, old), but searches its
    own vectors as they are stored, without proof.

    Args:
        new: Fingerprint of the version that embeds the queries.
        old: Fingerprint of the version that made the gallery.

    Raises:
        UsageError: They are one.
    """
    if new == old:
        raise UsageError(
            "`new_fingerprint` and `old_fingerprint` should be of two versions where "
            "the gallery goes through an adapter or the answer is yes: a version "
            f"searches its own vectors as they are. Received: {new[:12]} for both."
        )
