"""What was measured as tables of text, for a page or a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from keras_bct.evaluation.decision.comparison import Comparison
from keras_bct.evaluation.measurement.measurement import Measurement

Rows = tuple[list[str], list[list[str]]]


def measurement_rows(measurement: Measurement, confidence: float) -> Rows:
    """A measurement as a table: a header, and a row for each metric."""
    header = ["metric", "value", f"{100 * confidence:g} % interval", "threshold"]
    rows = []
    for metric, value in measurement.values.items():
        low, high = measurement.interval(metric, confidence)
        try:
            threshold = f"{measurement.threshold(metric):.4f}"
        except KeyError:
            threshold = ""
        rows.append([metric, f"{value:.4f}", f"{low:.4f} to {high:.4f}", threshold])
    return header, rows


def comparison_rows(comparison: Comparison) -> Rows:
    """The criterion as a table: a header, and a row for each metric."""
    header = [
        "metric",
        "M(old, old)",
        "M(new, old)",
        "difference",
        f"{100 * comparison.confidence:g} % interval",
        "flips",
    ]
    rows = []
    for name, metric in comparison.metrics.items():
        low, high = metric.difference_interval(comparison.confidence)
        rows.append(
            [
                name,
                f"{metric.old_old:.4f}",
                f"{metric.new_old:.4f}",
                f"{metric.difference:+.4f}",
                f"{low:+.4f} to {high:+.4f}",
                _or_dash(metric.negative_flips),
            ]
        )
    return header, rows


def gain_rows(comparison: Comparison) -> Rows:
    """The update gain as a table: a header, and a row for each metric."""
    header = [
        "metric",
        "M(new, new)",
        "paragon",
        "gain",
        f"{100 * comparison.confidence:g} % interval",
    ]
    rows = []
    for name, metric in comparison.metrics.items():
        gain = metric.gain_interval(comparison.confidence)
        rows.append(
            [
                name,
                _or_dash(metric.new_new),
                _or_dash(metric.paragon),
                _or_dash(metric.gain),
                "-" if gain is None else f"{gain[0]:.4f} to {gain[1]:.4f}",
            ]
        )
    return header, rows


def group_rows(groups: Mapping[str, Mapping[str, float]]) -> Rows:
    """Groups as a table: a header, and a row for each metric, the gap last."""
    names = list(next(iter(groups.values())))
    rows = [
        [
            metric,
            *(f"{values[name]:.4f}" for name in names),
            f"{max(values.values()) - min(values.values()):.4f}",
        ]
        for metric, values in groups.items()
    ]
    return ["metric", *names, "gap"], rows


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
