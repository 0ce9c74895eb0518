"""A table's numbers, and their JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from keras_bct.experiments.bct.measured import CONFIDENCE, Measured
from keras_bct.experiments.bct.table import Table

Results = Mapping[int, Mapping[str, Mapping[str, Measured]]]
"""By seed, by row title, by metric."""


@dataclasses.dataclass(frozen=True)
class Report:
    """What a table's files say.

    Attributes:
        table: The description.
        metrics: In the order of the protocol.
        results: The numbers that are in; a seed may lack rows.
        titles: The rows in their order, those without numbers included.
        seeds: How many seeds were asked for.
        provenance: Digests and versions, printed at the end and kept in the JSON.
        trainings: By seed and row title the digests of the row's trainings, kept in
            the JSON.
    """

    table: Table
    metrics: tuple[str, ...]
    results: Results
    titles: tuple[str, ...]
    seeds: int
    provenance: Mapping[str, Any]
    trainings: Mapping[int, Mapping[str, Mapping[str, str]]] = dataclasses.field(
        default_factory=dict
    )

    @property
    def has_numbers(self) -> bool:
        """Whether any row of any seed is in."""
        return any(self.results.values())

    def of(self, title: str, metric: str) -> dict[int, Measured]:
        """A row's numbers by seed; empty where none are in."""
        return {
            seed: rows[title][metric]
            for seed, rows in sorted(self.results.items())
            if title in rows
        }


def to_json(report: Report) -> str:
    """Gives the numbers of every seed, row and metric as JSON text."""
    content = {
        "schema": 1,
        "table": report.table.name,
        "title": report.table.title,
        "confidence": CONFIDENCE,
        "seeds_asked_for": report.seeds,
        "provenance": report.provenance,
        "trainings": {str(seed): rows for seed, rows in report.trainings.items()},
        "seeds": {
            str(seed): {
                title: {
                    metric: {**dataclasses.asdict(values), "answer": values.answer}
                    for metric, values in metrics.items()
                }
                for title, metrics in rows.items()
            }
            for seed, rows in sorted(report.results.items())
        },
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
