"""`python -m keras_bct.experiments`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from keras_bct.command_line import escape_what_cannot_be_printed
from keras_bct.experiments.bct.catalogue import PUBLISHED, Size
from keras_bct.experiments.bct.tables import CHOICE, TABLES
from keras_bct.experiments.fastfill.names import FASTFILL_NAMES

_EPILOG = """\
Trainings are kept under OUTPUT/trainings by the digest of their configuration, so a
run that was stopped goes on where it was, and tables share what they have in common.

  python -m keras_bct.experiments table1 --seeds 3 --data out/kanji --output out/tables
  python -m keras_bct.experiments all --seeds 5
  python -m keras_bct.experiments fastfill fastfill-bias --seeds 3
"""


def run(arguments: Sequence[str]) -> int:
    """Runs the tables that the command line names.

    Returns:
        0, or 2 after a message where an argument cannot be used.
    """
    tables = (*TABLES, CHOICE)
    names = [*(table.name for table in tables), *FASTFILL_NAMES]
    escape_what_cannot_be_printed()
    parser = argparse.ArgumentParser(
        prog="python -m keras_bct.experiments",
        description="Make the tables of BCT and of FastFill on the kanji.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "tables",
        nargs="+",
        metavar="TABLE",
        help=f"{', '.join(names)}, or all for those of the BCT paper",
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="how many, from 0 on (default: 3)"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path("out/experiments/data"),
        help="TFRecords and protocols; written when it is empty (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("out/experiments"),
        help="trainings and measurements (default: %(default)s)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        help="Markdown, JSON and plots (default: OUTPUT/results)",
    )
    parser.add_argument(
        "--no-training",
        action="store_true",
        help="report what is trained already and say what is missing",
    )
    parser.add_argument(
        "--steps",
        type=int,
        help="batches of every training, to try the way out; not the published size",
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.tables if name not in (*names, "all")]
    if unknown:
        parser.error(
            f"TABLE should be one of {', '.join(names)} or all. "
            f"Received: {unknown[0]!r}"
        )
    for name in ("seeds", "steps"):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f"--{name} should be at least 1. Received: {value}")
    if options.data.exists() and not options.data.is_dir():
        parser.error(f"--data should be a directory. Received: {options.data}")

    # Here, so that --help and a mistake do not wait for TensorFlow.
    from keras_bct.experiments.bct.run_tables import run_tables
    from keras_bct.experiments.harness.kanji_data import prepare
    from keras_bct.experiments.harness.trained_versions import TrainedVersions

    size: Size = PUBLISHED
    if options.steps is not None:
        size = dataclasses.replace(
            size, old_steps=options.steps, new_steps=options.steps
        )
    wanted = {*options.tables}
    if "all" in wanted:
        wanted.update(table.name for table in TABLES)
    chosen = [table for table in tables if table.name in wanted]
    results = options.results or options.output / "results"
    if chosen:
        run_tables(
            chosen,
            TrainedVersions(options.output, prepare(options.data)),
            results,
            seeds=options.seeds,
            size=size,
            train_missing=not options.no_training,
        )
    of_fastfill = [name for name in FASTFILL_NAMES if name in wanted]
    if of_fastfill:
        _run_fastfill(of_fastfill, options, results)
    for name in (*(table.name for table in chosen), *of_fastfill):
        print(results / f"{name}.md", file=sys.stdout)
    return 0


def _run_fastfill(
    names: Sequence[str], options: argparse.Namespace, results: Path
) -> None:
    from keras_bct.experiments.fastfill import pictures
    from keras_bct.experiments.fastfill.catalogue import PUBLISHED as FASTFILL_SIZE
    from keras_bct.experiments.fastfill.run_fastfill import run_fastfill
    from keras_bct.experiments.fastfill.tables import FASTFILL_TABLES
    from keras_bct.experiments.harness.trained_versions import TrainedVersions

    size = FASTFILL_SIZE
    if options.steps is not None:
        size = dataclasses.replace(
            size, old_steps=options.steps, new_steps=options.steps
        )
    data = pictures.prepare(options.data / "fastfill")
    run_fastfill(
        [table for table in FASTFILL_TABLES if table.name in names],
        TrainedVersions(
            options.output,
            data,
            parts=(*pictures.TRAINING_PARTS, *pictures.MAP_PARTS),
        ),
        results,
        seeds=options.seeds,
        size=size,
        train_missing=not options.no_training,
    )
