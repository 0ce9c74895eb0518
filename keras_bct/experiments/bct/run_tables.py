"""Runs tables: trains and measures what is missing, and writes the files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_bct.experiments.bct.catalogue import PUBLISHED, Catalogue, Size
from keras_bct.experiments.bct.measured import Measured
from keras_bct.experiments.bct.report import Report, to_json
from keras_bct.experiments.bct.report_markdown import to_markdown
from keras_bct.experiments.bct.row_measuring import (
    MIXED_SEED,
    RowMeasuring,
    Sides,
    sides,
)
from keras_bct.experiments.bct.table import Row, Table
from keras_bct.experiments.harness.software import software
from keras_bct.experiments.harness.trained_versions import TrainedVersions
from keras_bct.experiments.harness.training import Training


def run_tables(
    tables: Sequence[Table],
    versions: TrainedVersions,
    results: str | os.PathLike[str],
    *,
    seeds: int,
    size: Size = PUBLISHED,
    train_missing: bool = True,
    say: Callable[[str], None] = print,
) -> list[Report]:
    """Writes each table as `<name>.md`, `<name>.json` and `<name>.png`.

    Seed by seed, each table is written anew as soon as a seed is in, so that a run
    that is stopped leaves the seeds before it.

    Args:
        tables: Which ones.
        versions: The trained versions of an output folder.
        results: Where the files go; made when it is not there.
        seeds: The seeds 0 to `seeds` - 1.
        size: How large trainings are.
        train_missing: Whether to train what is missing; otherwise rows whose versions
            are not there are left out, and the files say so.
        say: Takes a line of progress.

    Returns:
        The reports, all seeds in them.
    """
    results = Path(results)
    results.mkdir(parents=True, exist_ok=True)
    if train_missing:
        _announce(tables, versions, seeds, size, say)
    numbers: dict[str, dict[int, dict[str, dict[str, Measured]]]] = {
        table.name: {} for table in tables
    }
    digests: dict[str, dict[int, dict[str, dict[str, str]]]] = {
        table.name: {} for table in tables
    }
    reports: dict[str, Report] = {}
    measuring = {
        name: RowMeasuring(versions, sides(name, versions.data), say)
        for name in sorted({table.protocol for table in tables})
    }
    for seed in range(seeds):
        for table in tables:
            rows = table.rows(Catalogue(seed, size))
            ready = [row for row in rows if train_missing or _is_ready(row, versions)]
            measure = measuring[table.protocol]
            numbers[table.name][seed] = {row.title: measure(row) for row in ready}
            digests[table.name][seed] = {
                row.title: _digests(row, versions) for row in ready
            }
            reports[table.name] = Report(
                table=table,
                metrics=measure.test.metrics,
                results=numbers[table.name],
                titles=tuple(row.title for row in rows),
                seeds=seeds,
                provenance=_provenance(versions, measure.test, size),
                trainings=digests[table.name],
            )
            write(reports[table.name], results)
        for measure in measuring.values():
            measure.forget()
    return list(reports.values())


def write(report: Report, results: Path) -> None:
    """Writes the files of a table; there is no figure without numbers."""
    from keras_bct.experiments.bct.figure import draw

    name = report.table.name
    (results / f"{name}.md").write_text(to_markdown(report), encoding="utf-8")
    (results / f"{name}.json").write_text(to_json(report), encoding="utf-8")
    if report.has_numbers:
        draw(report, results / f"{name}.png")


def trainings(
    tables: Sequence[Table], seeds: int, size: Size = PUBLISHED
) -> list[Training]:
    """Gives every training of the tables once, predecessors before successors."""
    found: dict[Training, None] = {}
    for seed in range(seeds):
        for table in tables:
            for row in table.rows(Catalogue(seed, size)):
                for training in row.trainings():
                    found.update(dict.fromkeys(_with_predecessors(training)))
    return list(found)


def _with_predecessors(training: Training) -> Iterator[Training]:
    if training.predecessor is not None:
        yield from _with_predecessors(training.predecessor)
    yield training


def _announce(
    tables: Sequence[Table],
    versions: TrainedVersions,
    seeds: int,
    size: Size,
    say: Callable[[str], None],
) -> None:
    folders = {
        versions.folder(training): versions.is_trained(training)
        for training in trainings(tables, seeds, size)
    }
    missing = list(folders.values()).count(False)
    say(f"{len(folders)} trainings, {missing} of them still to be done")


def _is_ready(row: Row, versions: TrainedVersions) -> bool:
    return all(versions.is_trained(training) for training in row.trainings())


def _digests(row: Row, versions: TrainedVersions) -> dict[str, str]:
    named = {"new": row.new, "old": row.old, "paragon": row.paragon}
    return {
        name: training.digest(versions.data_digests)
        for name, training in named.items()
        if training is not None
    }


def _provenance(versions: TrainedVersions, test: Sides, size: Size) -> dict[str, Any]:
    return {
        "protocol": f"{test.protocol.name}, SHA-256 {test.protocol.digest()}",
        "test pictures, SHA-256": versions.digests((test.queries, *test.gallery)),
        "training pictures, SHA-256": versions.data_digests,
        "bootstrap": f"{test.protocol.bootstrap.replicates} replicates, seed "
        f"{test.protocol.bootstrap.seed}, by identity",
        "mixed gallery": f"seed {MIXED_SEED}",
        "size": dataclasses.asdict(size),
        **software(),
    }
