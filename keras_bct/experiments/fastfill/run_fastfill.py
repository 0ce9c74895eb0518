"""Runs FastFill's experiments: trains, maps and measures, and writes the files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from keras_bct.experiments.fastfill.aligned_parts import AlignedParts
from keras_bct.experiments.fastfill.catalogue import (
    PUBLISHED,
    FastFillCatalogue,
    FastFillSize,
)
from keras_bct.experiments.fastfill.curve_measuring import CurveMeasuring
from keras_bct.experiments.fastfill.curve_numbers import CurveNumbers
from keras_bct.experiments.fastfill.report import FastFillReport, to_json, to_markdown
from keras_bct.experiments.fastfill.rows import BackfillRow, FastFillTable
from keras_bct.experiments.harness.software import software
from keras_bct.experiments.harness.trained_versions import TrainedVersions


def run_fastfill(
    tables: Sequence[FastFillTable],
    versions: TrainedVersions,
    results: str | os.PathLike[str],
    *,
    seeds: int,
    size: FastFillSize = PUBLISHED,
    train_missing: bool = True,
    say: Callable[[str], None] = print,
) -> list[FastFillReport]:
    """Writes each table as `<name>.md`, `<name>.json` and `<name>.png`.

    A table is written anew as soon as a seed is in, so that a run that is stopped
    leaves the seeds before it.

    Args:
        tables: Which ones.
        versions: The trained versions of an output folder.
        results: Where the files go; made when it is not there.
        seeds: The seeds 0 to `seeds` - 1.
        size: How large image models are.
        train_missing: Whether to train image models that are missing; otherwise rows
            that need them are left out, and the files say so.
        say: Takes a line of progress.

    Returns:
        The reports, all seeds in them.
    """
    results = Path(results)
    results.mkdir(parents=True, exist_ok=True)
    aligned = AlignedParts(versions, say)
    reports = []
    for table in tables:
        measure = CurveMeasuring(aligned, by_group=table.by_group)
        numbers: dict[int, dict[str, dict[str, CurveNumbers]]] = {}
        digests: dict[int, dict[str, str]] = {}
        for seed in range(seeds):
            rows = table.rows(FastFillCatalogue(seed, size))
            ready = [row for row in rows if train_missing or _is_ready(row, versions)]
            numbers[seed] = {setting.name: {} for setting in table.settings}
            # Row by row, so that a map is fitted once for all settings.
            for row in ready:
                for setting in table.settings:
                    measured = measure(row, setting, seed)
                    numbers[seed][setting.name][row.title] = measured
            digests[seed] = {
                row.title: aligned.digest(row.method, row.migration) for row in rows
            }
            report = FastFillReport(
                table=table,
                results=numbers,
                titles=tuple(row.title for row in rows),
                seeds=seeds,
                provenance=_provenance(versions, table, size),
                digests=digests,
            )
            _write(report, results)
        reports.append(report)
    return reports


def _write(report: FastFillReport, results: Path) -> None:
    from keras_bct.experiments.fastfill.figure import draw

    name = report.table.name
    (results / f"{name}.md").write_text(to_markdown(report), encoding="utf-8")
    (results / f"{name}.json").write_text(to_json(report), encoding="utf-8")
    if report.has_numbers:
        draw(report, results / f"{name}.png")


def _is_ready(row: BackfillRow, versions: TrainedVersions) -> bool:
    needed = (row.migration.old, row.migration.new)
    return all(versions.is_trained(training) for training in needed)


def _provenance(
    versions: TrainedVersions, table: FastFillTable, size: FastFillSize
) -> dict[str, object]:
    parts = [setting.part for setting in table.settings]
    return {
        "test pictures, SHA-256": versions.digests(parts),
        "training pictures, SHA-256": versions.data_digests,
        "distance": "cosine",
        "bootstrap": "2000 replicates, seed 0, by class",
        "size": dataclasses.asdict(size),
        **software(),
    }
