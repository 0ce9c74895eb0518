"""What `python -m keras_bct evaluate` measured, as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keras_bct.evaluation import (
    BackfillingCurve,
    Comparison,
    Decision,
    Measurement,
    Protocol,
)
from keras_bct.written_whole import written_whole


def write_json(
    path: str,
    protocol: Protocol,
    measurements: dict[str, Measurement],
    comparison: Comparison | None,
    decision: Decision | None,
    groups: dict[str, dict[str, float]] | None,
    curve: BackfillingCurve | None,
) -> None:
    """Writes every number, and the gate's answer with its reasons.

    Args:
        path: Where to.
        protocol: What was measured.
        measurements: For each name, such as `M(new, old)`, a measurement of it.
        comparison: A comparison, or None.
        decision: The gate's answer to it, or None.
        groups: For each metric the value of each group, or None.
        curve: A backfilling curve, or None.

    Raises:
        OSError: The file cannot be written.
    """
    confidence = protocol.gate.confidence
    result: dict[str, Any] = {
        "protocol": {"name": protocol.name, "digest": protocol.digest()},
        "counts": dict(next(iter(measurements.values())).counts),
        "measurements": {
            name: {
                metric: {
                    "value": value,
                    "interval": list(measurement.interval(metric, confidence)),
                }
                for metric, value in measurement.values.items()
            }
            for name, measurement in measurements.items()
        },
        "warnings": [w for m in measurements.values() for w in m.warnings],
        "groups": groups,
        "curve": None
        if curve is None
        else {
            name: {
                "cutoffs": curve.cutoffs[name].tolist(),
                "values": values.tolist(),
                "area": curve.area(name),
            }
            for name, values in curve.values.items()
        },
        "comparison": None,
        "decision": None,
    }
    if comparison is not None and decision is not None:
        result["comparison"] = {
            name: {
                "old_old": metric.old_old,
                "chance": metric.chance,
                "new_old": metric.new_old,
                "new_new": metric.new_new,
                "paragon": metric.paragon,
                "gain": metric.gain,
                "gain_interval": metric.gain_interval(confidence),
                "difference": metric.difference,
                "difference_interval": metric.difference_interval(confidence),
                "negative_flips": metric.negative_flips,
            }
            for name, metric in comparison.metrics.items()
        }
        result["decision"] = {
            "answer": decision.answer,
            "reasons": decision.reasons,
            "identities_needed": decision.identities_needed,
        }
    with written_whole(Path(path)) as unfinished:
        unfinished.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
