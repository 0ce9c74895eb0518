"""`python -m keras_bct evaluate`: measure a protocol on embeddings or models."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from keras_bct.backfill import random_order
from keras_bct.cli.evaluation_json import write_json
from keras_bct.cli.sides import load_side
from keras_bct.evaluation import (
    BackfillingCurve,
    Comparison,
    Decision,
    EmbeddingSet,
    Execution,
    Measurement,
    Protocol,
    backfilling_curve,
    compare_measurements,
    decide,
    measure,
    measure_groups,
    paper_cutoffs,
    pool_templates,
    write_report,
)
from keras_bct.evaluation.report.report_rows import (
    Rows,
    comparison_rows,
    gain_rows,
    group_rows,
    measurement_rows,
)

_DESCRIPTION = """\
Measure a protocol on embeddings, or on models that make them.

Each side is a file of embeddings (.npz, .npy, .parquet, .arrow, .tfrecord), or the
directory of a SavedModel that embeds the pictures which the protocol names.

One model:
  python -m keras_bct evaluate --protocol faces.yaml --queries q.npz --gallery g.npz

A new model's queries against the old model's gallery, with the gate's answer:
  python -m keras_bct evaluate --protocol faces.yaml --queries models/2 \\
    --gallery models/1 --against models/1 --html report.html
"""


def add_parser(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "evaluate",
        help="measure a protocol on embeddings or models",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--protocol", required=True, metavar="FILE", help="the protocol (YAML)")
    add("--queries", metavar="SIDE", help="the (new) queries; default: the protocol's")
    add("--gallery", metavar="SIDE", help="the (old) gallery; default: the protocol's")
    add("--against", metavar="SIDE", help="the old model's queries: compare with it")
    add("--new-gallery", metavar="SIDE", help="the new model's gallery: M(new, new)")
    add(
        "--paragon",
        nargs=2,
        metavar=("QUERIES", "GALLERY"),
        help="both sides of the paragon: the gain",
    )
    add(
        "--curve",
        action="store_true",
        help="the backfilling curve in random order; needs --new-gallery",
    )
    add("--confidence", type=float, help="of the intervals; default: the gate's")
    add("--min-gain", type=float, help="the least gain; default: the gate's")
    add("--groups", choices=("label", "camera"), help="every metric by this, too")
    add("--json", metavar="FILE", dest="json_path", help="write the numbers")
    add("--html", metavar="FILE", dest="html_path", help="write a report")
    add("--block-rows", type=int, help="queries scored together; default: automatic")
    add("--device", default="auto", choices=("auto", "cpu", "gpu"), help="multiplies")
    add("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command.

    Raises:
        ValueError: The protocol or a side cannot be used.
        OSError: A file cannot be read or written.
    """
    import dataclasses

    protocol = Protocol.from_yaml(arguments.protocol)
    gate = protocol.gate
    if arguments.confidence is not None:
        gate = dataclasses.replace(gate, confidence=arguments.confidence)
    if arguments.min_gain is not None:
        gate = dataclasses.replace(gate, min_gain=arguments.min_gain)
    protocol = dataclasses.replace(protocol, gate=gate)
    for option in ("min_gain", "new_gallery", "paragon"):
        if getattr(arguments, option) is not None and arguments.against is None:
            name = option.replace("_", "-")
            raise ValueError(f"--{name} needs --against: the old model's queries.")
    if arguments.curve and arguments.new_gallery is None:
        raise ValueError("--curve needs --new-gallery: the gallery embedded anew.")
    # What can be known before the measuring, which may take hours, is asked before it.
    curved = _metrics_with_a_curve(protocol) if arguments.curve else []
    for path in (arguments.json_path, arguments.html_path):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise ValueError(
                f"{path} cannot be written: there is no such folder. Make it first."
            )
    execution = Execution(
        block_rows=arguments.block_rows,
        device=arguments.device,
        progress=not arguments.quiet,
    )
    loaded: dict[tuple[str, str | None], EmbeddingSet] = {}

    def side(name: Any, given: str | None) -> EmbeddingSet:
        if (name, given) not in loaded:
            loaded[name, given] = load_side(protocol, name, given)
        return loaded[name, given]

    queries = side("queries", arguments.queries)
    gallery = side("gallery", arguments.gallery)
    group_of = None
    if arguments.groups is not None:
        group_of = queries.labels if arguments.groups == "label" else queries.cameras
        if group_of is None:
            raise ValueError(
                "--groups camera needs cameras of the queries. Received: none; name "
                "them in the protocol."
            )
    notes = _notes(protocol, queries, gallery)
    # First, since a group that cannot be measured ends it all.
    groups = None
    if group_of is not None:
        by_group = measure_groups(
            protocol, queries, gallery, group_of, execution=execution
        )
        groups = {metric: by_group.values(metric) for metric in protocol.metrics}
        if by_group.queries_without_group:
            notes.append(
                f"{by_group.queries_without_group:,} queries without a "
                f"{arguments.groups} are in no group."
            )
    measurements: dict[str, Measurement] = {}
    comparison: Comparison | None = None
    decision: Decision | None = None
    if arguments.against is None:
        measurements["M"] = measure(protocol, queries, gallery, execution=execution)
    else:
        old = side("queries", arguments.against)
        sides = {"M(old, old)": (old, gallery), "M(new, old)": (queries, gallery)}
        if arguments.new_gallery is not None:
            sides["M(new, new)"] = (queries, side("gallery", arguments.new_gallery))
        if arguments.paragon is not None:
            asked, stored = arguments.paragon
            sides["paragon"] = (side("queries", asked), side("gallery", stored))
        whole = dataclasses.replace(protocol, first_components=None)
        for name, (asking, answering) in sides.items():
            one_model = name in ("M(new, new)", "paragon")
            measurements[name] = measure(
                whole if one_model else protocol,
                asking,
                answering,
                execution=execution,
            )
        comparison = compare_measurements(
            protocol,
            old_old=measurements["M(old, old)"],
            new_old=measurements["M(new, old)"],
            new_new=measurements.get("M(new, new)"),
            paragon=measurements.get("paragon"),
        )
        decision = decide(comparison, gate)
    curve = None
    if arguments.curve:
        anew = side("gallery", arguments.new_gallery)
        curve = _curve(protocol, curved, queries, gallery, anew, execution)
    _print(protocol, measurements, comparison, decision, groups, curve, notes)
    if arguments.json_path is not None:
        write_json(
            arguments.json_path,
            protocol,
            measurements,
            comparison,
            decision,
            groups,
            curve,
        )
    if arguments.html_path is not None:
        write_report(
            arguments.html_path,
            protocol,
            measurements,
            comparison=comparison,
            decision=decision,
            curve=curve,
            groups=groups,
        )
    return 0


def _notes(
    protocol: Protocol, queries: EmbeddingSet, gallery: EmbeddingSet
) -> list[str]:
    """What one may want to know before reading the numbers."""
    if protocol.distance != "cosine":
        return []
    notes = []
    for name, items in (("queries", queries), ("gallery", gallery)):
        norms = (items.embeddings[:4096].astype(float) ** 2).sum(axis=1) ** 0.5
        if abs(norms - 1).max() > 1e-3:
            notes.append(
                f"{name}: lengths from {norms.min():.3g} to {norms.max():.3g}; cosine "
                "normalises them."
            )
    return notes


def _metrics_with_a_curve(protocol: Protocol) -> list[str]:
    """Those of the protocol's metrics that have a backfilling curve."""
    forms = r"retrieval/mAP|retrieval/CMC@\d+|verification/TAR@FAR=.*"
    metrics = [name for name in protocol.metrics if re.fullmatch(forms, name)]
    if not metrics:
        raise ValueError(
            "--curve needs retrieval/mAP, retrieval/CMC@k or verification/TAR@FAR=x "
            f"among the protocol's metrics. Received: {', '.join(protocol.metrics)}."
        )
    return metrics


def _curve(
    protocol: Protocol,
    metrics: list[str],
    queries: EmbeddingSet,
    old: EmbeddingSet,
    new: EmbeddingSet,
    execution: Execution,
) -> BackfillingCurve:
    # A template is embedded anew as a whole.
    queries, old, new = (
        items if items.templates is None else pool_templates(items)
        for items in (queries, old, new)
    )
    return backfilling_curve(
        old,
        new,
        random_order(len(old), protocol.bootstrap.seed),
        queries=queries,
        metrics=metrics,
        cutoffs=paper_cutoffs(len(old)),
        distance=protocol.distance,
        exclude=protocol.exclude,
        execution=execution,
    )


def _print(
    protocol: Protocol,
    measurements: dict[str, Measurement],
    comparison: Comparison | None,
    decision: Decision | None,
    groups: dict[str, dict[str, float]] | None,
    curve: BackfillingCurve | None,
    notes: list[str],
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    # Wide enough for every column: a terminal that is not wraps the lines.
    console = Console(highlight=False, width=max(Console().width, 104))

    def show(title: str, rows: Rows) -> None:
        table = Table(
            title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False
        )
        for i, name in enumerate(rows[0]):
            table.add_column(name, justify="right" if i else "left", no_wrap=not i)
        for row in rows[1]:
            table.add_row(*row)
        console.print(table)

    for name, measurement in measurements.items():
        show(name, measurement_rows(measurement, protocol.gate.confidence))
    if comparison is not None:
        show("Comparison", comparison_rows(comparison))
        if "M(new, new)" in measurements or "paragon" in measurements:
            show("Gain", gain_rows(comparison))
    if groups is not None:
        show("Groups", group_rows(groups))
    if curve is not None:
        areas = [[name, f"{curve.area(name):.4f}"] for name in curve.values]
        show("Backfilling", (["metric, in random order", "area"], areas))
    counts = next(iter(measurements.values())).counts
    print(", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items()))
    for note in notes:
        print(f"Note: {note}")
    for warning in dict.fromkeys(w for m in measurements.values() for w in m.warnings):
        print(f"Warning: {warning}")
    if decision is not None:
        print(f"Gate: {decision.answer}")
        for reason in decision.reasons:
            print(f"  {reason}")
