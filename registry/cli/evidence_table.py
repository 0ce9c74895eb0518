"""The numbers of evidence as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from registry.cli.output import interval, number, table, to_plain
from registry.evidence.evidence import Evidence
from registry.registry import Registry


def evidence_table(registry: Registry, evidence: Sequence[Evidence]) -> str:
    """One line a metric."""

    def name(fingerprint: str) -> str:
        version = registry.version_with(fingerprint)
        return fingerprint[:12] if version is None else str(version)

    def through(item: Evidence) -> str:
        if item.adapter_fingerprint is None:
            return ""
        adapter = registry.adapter_with(item.adapter_fingerprint)
        return f" through {adapter or item.adapter_fingerprint[:12]}"

    rows = [
        [
            str(item.id),
            f"{name(item.new_fingerprint)} -> {name(item.old_fingerprint)}"
            + through(item),
            metric.metric,
            number(metric.old_old),
            number(metric.new_old),
            interval((metric.low, metric.high), "+.4f"),
            number(metric.new_new),
            f"{number(metric.gain)} " + interval(item.gain_interval(metric.metric)),
            item.answer,
        ]
        for item in evidence
        for metric in item.metrics
    ]
    return table(
        [
            "id",
            "new -> old",
            "metric",
            "M(old,old)",
            "M(new,old)",
            "difference",
            "M(new,new)",
            "gain",
            "gate",
        ],
        rows,
    )


def evidence_document(evidence: Evidence) -> dict[str, Any]:
    """The same with all that is known of it, for programs."""
    document = to_plain(evidence)
    for metric in document["metrics"]:
        metric["gain_interval"] = to_plain(evidence.gain_interval(metric["metric"]))
    return {
        **document,
        "counts": evidence.counts,
        "warnings": list(evidence.warnings),
    }
