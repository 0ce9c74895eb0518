"""Comparing: is the new model better against the old gallery than the old one was?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.bootstrap import percentile_interval
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet, check_same_items
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.inputs.protocol import Protocol, check_confidence
from keras_bct.evaluation.measurement.measurement import Measurement
from keras_bct.evaluation.measurement.measuring import measure

Floats = npt.NDArray[np.float64]

_REPLICATES = ("difference_replicates", "gain_replicates", "old_old_replicates")


@dataclasses.dataclass(frozen=True, eq=False)
class MetricComparison:
    """One metric of a comparison.

    Attributes:
        old_old: M(old, old).
        new_old: M(new, old): new queries against the old gallery.
        new_new: M(new, new), None where the new gallery was not embedded.
        paragon: M(new*, new*), None without a paragon.
        gain: The update gain (BCT, Eq. 9), None where it is undefined.
        gain_undefined: Why there is no gain; empty where there is one.
        difference_replicates: (replicates,) float64 of M(new, old) - M(old, old).
        gain_replicates: (replicates,) float64, NaN where a replicate's denominator is
            not positive; None without a paragon.
        negative_flips: The share of answers that were right and are now wrong; None
            for a metric without single answers.
        identities: How many identities were resampled.
        old_old_replicates: (replicates,) float64 of M(old, old); None in what earlier
            releases measured, as the next one.
        chance: What M(old, old) comes to by chance, None where it is not known.
    """

    old_old: float
    new_old: float
    new_new: float | None
    paragon: float | None
    gain: float | None
    gain_undefined: str
    difference_replicates: Floats
    gain_replicates: Floats | None
    negative_flips: float | None
    identities: int
    old_old_replicates: Floats | None = None
    chance: float | None = None

    @property
    def difference(self) -> float:
        """M(new, old) - M(old, old)."""
        return self.new_old - self.old_old

    def difference_interval(self, confidence: float) -> tuple[float, float]:
        """The two-sided interval of M(new, old) - M(old, old)."""
        check_confidence(confidence)
        return percentile_interval(self.difference_replicates, confidence)

    def baseline_interval(self, confidence: float) -> tuple[float, float] | None:
        """The two-sided interval of M(old, old), None where it was not kept."""
        check_confidence(confidence)
        if self.old_old_replicates is None:
            return None
        return percentile_interval(self.old_old_replicates, confidence)

    def gain_interval(self, confidence: float) -> tuple[float, float] | None:
        """The two-sided interval of the gain, None where it has no value."""
        check_confidence(confidence)
        if self.gain is None or self.gain_replicates is None:
            return None
        return percentile_interval(self.gain_replicates, confidence)


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """The measured numbers of a new model against its predecessor.

    Attributes:
        protocol: The protocol's name.
        gate_metrics: The metrics that its gate reads.
        confidence: The gate's confidence.
        min_gain: The least gain that its gate asks for, or None.
        metrics: For each metric's name its numbers.
        counts: How many items and pairs there were.
        warnings: Sentences on what the data cannot resolve.
    """

    protocol: str
    gate_metrics: tuple[str, ...]
    confidence: float
    min_gain: float | None
    metrics: Mapping[str, MetricComparison]
    counts: Mapping[str, int]
    warnings: tuple[str, ...]

    def __getitem__(self, metric: str) -> MetricComparison:
        """The numbers of one metric."""
        return self.metrics[metric]

    @property
    def negative_flips(self) -> float | None:
        """The share of negative flips of the gate's first metric."""
        return self.metrics[self.gate_metrics[0]].negative_flips

    def to_json(self) -> str:
        """The comparison as JSON text; `from_json` gives it back unchanged."""
        values = dataclasses.asdict(self)
        for metric in values["metrics"].values():
            for key in _REPLICATES:
                if metric[key] is not None:
                    metric[key] = [
                        x if np.isfinite(x) else None for x in metric[key].tolist()
                    ]
        return json.dumps(values, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Reads what `to_json` wrote.

        Raises:
            ValueError: The text is not JSON, or a key is missing or unknown.
        """
        try:
            values: dict[str, Any] = json.loads(text)
            values["metrics"] = {
                name: MetricComparison(**_arrays(metric))
                for name, metric in values["metrics"].items()
            }
            for key in ("gate_metrics", "warnings"):
                values[key] = tuple(values[key])
            return cls(**values)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"`text` should be what `Comparison.to_json` wrote: {error}."
            ) from error


def _arrays(metric: dict[str, Any]) -> dict[str, Any]:
    for key in _REPLICATES:
        if metric.get(key) is not None:
            metric[key] = np.array(metric[key], np.float64)
    return metric


def compare(
    protocol: Protocol,
    *,
    old_queries: EmbeddingSet,
    old_gallery: EmbeddingSet,
    new_queries: EmbeddingSet,
    searched: EmbeddingSet | None = None,
    new_gallery: EmbeddingSet | None = None,
    paragon: Measurement | tuple[EmbeddingSet, EmbeddingSet] | None = None,
) -> Comparison:
    """Measures the empirical criterion and the gain (BCT, Eq. 2 and 9).

    Args:
        protocol: What M means.
        old_queries: The queries, embedded by the old model.
        old_gallery: The gallery, embedded by the old model.
        new_queries: The same queries, in the same order, embedded by the new model.
        searched: What an adapter h makes of `old_gallery`: M(new, h(old)) stands in the
            place of M(new, old). None where the new model searches it as it is.
        new_gallery: The same gallery embedded by the new model, or None. M(new, new)
            takes all components, M(new, old) the first K where the protocol says so.
        paragon: M(new*, new*) on the same items, or its queries and gallery, or None;
            all components again.

    Returns:
        The numbers of each metric, with paired bootstrap replicates of the difference.

    Raises:
        ValueError: Ids or labels differ between versions, or what `measure` refuses.

    Example:
        >>> from keras_bct.evaluation import Source
        >>> side = Source("embeddings", "set.npz")
        >>> protocol = Protocol("toy", side, side, ("retrieval/CMC@1",))
        >>> axes = np.eye(2, dtype=np.float32)
        >>> gallery = EmbeddingSet(["a", "b"], ["x", "y"], None, axes)
        >>> good = EmbeddingSet(["c", "d"], ["x", "y"], None, axes)
        >>> bad = EmbeddingSet(["c", "d"], ["x", "y"], None, axes[::-1])
        >>> result = compare(
        ...     protocol, old_queries=bad, old_gallery=gallery, new_queries=good
        ... )
        >>> result["retrieval/CMC@1"].old_old, result["retrieval/CMC@1"].new_old
        (0.0, 1.0)
    """
    check_same_items("new_queries", new_queries, "old_queries", old_queries)
    if new_gallery is not None:
        check_same_items("new_gallery", new_gallery, "old_gallery", old_gallery)
    if isinstance(paragon, tuple):
        check_same_items("paragon", paragon[0], "old_queries", old_queries)
        check_same_items("paragon", paragon[1], "old_gallery", old_gallery)
    if searched is None:
        searched = old_gallery
    check_same_items("searched", searched, "old_gallery", old_gallery)
    old_old = measure(protocol, old_queries, old_gallery)
    new_old = measure(protocol, new_queries, searched)
    # Both sides of these two come from one model, so all its components count.
    whole = dataclasses.replace(protocol, first_components=None)
    new_new = None
    if new_gallery is not None:
        new_new = measure(whole, new_queries, new_gallery)
    if isinstance(paragon, tuple):
        # A new model that was trained freely is its own.
        same = paragon[0] is new_queries and paragon[1] is new_gallery
        paragon = new_new if same else measure(whole, *paragon)
    return compare_measurements(
        protocol, old_old=old_old, new_old=new_old, new_new=new_new, paragon=paragon
    )


def compare_measurements(
    protocol: Protocol,
    *,
    old_old: Measurement,
    new_old: Measurement,
    new_new: Measurement | None = None,
    paragon: Measurement | None = None,
) -> Comparison:
    """Joins measurements of the same items into a comparison.

    Args:
        protocol: What M means.
        old_old: M(old, old).
        new_old: M(new, old).
        new_new: M(new, new), or None.
        paragon: M(new*, new*), or None.

    Raises:
        ValueError: A measurement lacks a metric or counts other items.
    """
    for name, other in (
        ("new_old", new_old),
        ("new_new", new_new),
        ("paragon", paragon),
    ):
        if other is not None and other.counts != old_old.counts:
            raise ValueError(
                f"`{name}` should be measured on the items of `old_old`. Received "
                f"counts {dict(other.counts)}, expected {dict(old_old.counts)}."
            )
    metrics = {
        metric: _compare_metric(metric, old_old, new_old, new_new, paragon)
        for metric in protocol.metrics
    }
    warnings = dict.fromkeys((*old_old.warnings, *new_old.warnings))
    return Comparison(
        protocol=protocol.name,
        gate_metrics=protocol.gate_metrics,
        confidence=protocol.gate.confidence,
        min_gain=protocol.gate.min_gain,
        metrics=metrics,
        counts=dict(old_old.counts),
        warnings=tuple(warnings),
    )


def _compare_metric(
    metric: str,
    old_old: Measurement,
    new_old: Measurement,
    new_new: Measurement | None,
    paragon: Measurement | None,
) -> MetricComparison:
    old, new = old_old.values[metric], new_old.values[metric]
    top = None if paragon is None else paragon.values[metric]
    baseline = old_old.replicates(metric)
    difference = new_old.replicates(metric) - baseline
    gain, why, gain_replicates = None, "", None
    # An error rate that falls gets better.
    better = 1 if MetricName.parse(metric).higher_is_better else -1
    if paragon is None or top is None:
        why = "no paragon was named"
    elif better * (top - old) <= 0:
        why = f"the paragon's {top:.4f} is not better than M(old, old) = {old:.4f}"
    elif better * (new - old) <= 0:
        why = f"M(new, old) = {new:.4f} is not better than M(old, old) = {old:.4f}"
    else:
        gain = (new - old) / (top - old)
    if paragon is not None:
        room = paragon.replicates(metric) - baseline
        with np.errstate(divide="ignore", invalid="ignore"):
            gain_replicates = np.where(better * room > 0, difference / room, np.nan)
    try:
        right, still_right = old_old.right(metric), new_old.right(metric)
        flips = float(np.mean(right * (1 - still_right)))
    except KeyError:
        flips = None
    return MetricComparison(
        old_old=old,
        new_old=new,
        new_new=None if new_new is None else new_new.values[metric],
        paragon=top,
        gain=gain,
        gain_undefined=why,
        difference_replicates=difference,
        gain_replicates=gain_replicates,
        negative_flips=flips,
        identities=old_old.identities(metric),
        old_old_replicates=baseline,
        chance=old_old.chance.get(metric),
    )
