"""A report as one self-contained HTML page: tables, curves, and the gate's answer."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from keras_bct.evaluation.backfilling.backfilling_curve import BackfillingCurve
from keras_bct.evaluation.decision.comparison import Comparison
from keras_bct.evaluation.decision.decision import Decision
from keras_bct.evaluation.inputs.protocol import Protocol
from keras_bct.evaluation.measurement.measurement import Measurement
from keras_bct.evaluation.report.line_chart import COLOURS, Axis, Series, line_chart
from keras_bct.evaluation.report.report_rows import (
    comparison_rows,
    gain_rows,
    group_rows,
    measurement_rows,
)
from keras_bct.written_whole import written_whole

_LONGEST_CMC = 50

_ANSWERS = {
    "yes": "Yes: the new model may stand in front of the old gallery.",
    "no": "No: the new model may not stand in front of the old gallery.",
    "undecided": "Undecided: this much data cannot tell.",
}

_STYLE = """
:root { color-scheme: light dark;
  --paper: #fcfcfb; --ink: #1c1f23; --soft: #5c646e; --rule: #dfe2e6; --card: #fff;
  --yes: #12703f; --no: #b3261e; --undecided: #8a5a00;
  --c0: #1f66d0; --c1: #c2410c; --c2: #0f766e; --c3: #7c3aed; --c4: #a16207;
  --c5: #be185d; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171a; --ink: #e8eaed; --soft: #9aa3ad; --rule: #31373d; --card: #1c2024;
  --yes: #6fd39b; --no: #ff8a80; --undecided: #f2c26b;
  --c0: #7ab0ff; --c1: #ff9d6c; --c2: #5eead4; --c3: #c4a7ff; --c4: #e7c35f;
  --c5: #f59ac2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 68rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p, li { overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.answer { border-left: .3rem solid; padding: .5rem .8rem; background: var(--card);
  font-weight: 600; }
.yes { color: var(--yes); } .no { color: var(--no); }
.undecided { color: var(--undecided); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .35rem .6rem; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
th { color: var(--soft); font-weight: 500; }
details { margin: .5rem 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) { table { font-size: .8rem; }
  th, td { padding: .35rem .25rem; white-space: normal; }
  td:first-child { overflow-wrap: anywhere; min-width: 6.5rem; } }
.charts { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
figure { margin: 0; padding: .6rem; background: var(--card);
  border: 1px solid var(--rule); border-radius: .4rem; }
figcaption { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .85rem; }
svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--rule); stroke-width: 1; fill: none; }
.label { fill: var(--soft); font-size: 11px; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
"""


def write_report(
    path: str | os.PathLike[str],
    protocol: Protocol,
    measurements: Mapping[str, Measurement],
    *,
    comparison: Comparison | None = None,
    decision: Decision | None = None,
    curve: BackfillingCurve | None = None,
    groups: Mapping[str, Mapping[str, float]] | None = None,
) -> None:
    """Writes a page that needs nothing but itself.

    Args:
        path: Where to.
        protocol: What was measured.
        measurements: For each name, such as `M(new, old)`, a measurement of it.
        comparison: A comparison to show, or None.
        decision: The gate's answer to show, or None.
        curve: A backfilling curve to show, or None.
        groups: For each metric the value of each group, or None.
    """
    confidence = protocol.gate.confidence
    title = f"Evaluation: {protocol.name}"
    parts = [f"<h1>{html.escape(title)}</h1>", _subtitle(protocol, measurements)]
    if decision is not None:
        reasons = "".join(f"<li>{html.escape(r)}</li>" for r in decision.reasons)
        parts.append(
            f'<p class="answer {decision.answer}">{_ANSWERS[decision.answer]}</p>'
            f"<ul>{reasons}</ul>"
        )
    if comparison is not None:
        metrics = comparison.metrics.values()
        parts += ["<h2>Comparison</h2>", _table(*comparison_rows(comparison))]
        if any(m.new_new is not None or m.paragon is not None for m in metrics):
            parts += ["<h2>Gain</h2>", _table(*gain_rows(comparison))]
    charts = [*_measurement_charts(measurements), *_curve_charts(curve)]
    if charts:
        parts += ["<h2>Curves</h2>", f'<div class="charts">{"".join(charts)}</div>']
    parts.append("<h2>Measurements</h2>")
    for name, measurement in measurements.items():
        shown = " open" if comparison is None else ""
        table = _table(*measurement_rows(measurement, confidence))
        parts.append(
            f"<details{shown}><summary>{html.escape(name)}</summary>{table}</details>"
        )
    if groups:
        parts += ["<h2>Groups</h2>", _table(*group_rows(groups))]
    warnings = dict.fromkeys(w for m in measurements.values() for w in m.warnings)
    if warnings:
        items = "".join(f"<li>{html.escape(w)}</li>" for w in warnings)
        parts.append(f"<h2>Warnings</h2><ul>{items}</ul>")
    colours = "".join(
        f".c{i}{{stroke:var(--c{i})}} span.c{i}{{color:var(--c{i})}}"
        for i in range(COLOURS)
    )
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{colours}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )
    with written_whole(Path(path)) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def _subtitle(protocol: Protocol, measurements: Mapping[str, Measurement]) -> str:
    counts = next(iter(measurements.values())).counts
    listed = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items())
    cut = (
        f", first {protocol.first_components} components"
        if protocol.first_components
        else ""
    )
    return (
        f'<p class="soft">{html.escape(listed)}; distance {protocol.distance}{cut}; '
        f"{protocol.bootstrap.replicates:,} bootstrap replicates over identities, seed "
        f"{protocol.bootstrap.seed}.</p>"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _figure(caption: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    legend = "".join(
        f'<span class="c{i % COLOURS}">● {html.escape(line.name)}</span>'
        for i, line in enumerate(series)
    )
    return (
        f"<figure><figcaption>{html.escape(caption)}</figcaption>"
        f'<div class="legend">{legend}</div>{line_chart(caption, x, y, series)}'
        "</figure>"
    )


def _measurement_charts(measurements: Mapping[str, Measurement]) -> list[str]:
    roc, det, identification, cmc = [], [], [], []
    least = 1.0
    for name, measurement in measurements.items():
        if measurement.verification is not None:
            _, far, tar = measurement.verification.roc()
            roc.append(Series(name, far, tar, steps=True))
            det.append(Series(name, far, 1 - tar, steps=True))
            asked = min(measurement.verification.thresholds, default=1e-3)
            floor = 1 / measurement.verification.pairs.total
            least = min(least, max(asked / 10, floor))
        if measurement.identification is not None:
            _, alarms, missed = measurement.identification.det()
            identification.append(Series(name, alarms, missed, steps=True))
        if measurement.retrieval is not None:
            longest = min(_LONGEST_CMC, measurement.counts["gallery"])
            ranks = np.arange(1, longest + 1)
            values = np.array(
                [np.nanmean(measurement.retrieval.match_at(int(k))) for k in ranks]
            )
            cmc.append(Series(name, ranks.astype(np.float64), values))
    charts = []
    if roc:
        false = Axis("false accept rate", 10.0 ** np.floor(np.log10(least)), 1.0, True)
        charts.append(_figure("ROC", false, Axis("true accept rate", 0, 1), roc))
        missed_axis = Axis("false reject rate", 1e-3, 1.0, True)
        charts.append(_figure("DET", false, missed_axis, det))
    if identification:
        false = Axis("false positive identification rate", 1e-3, 1.0, True)
        missed_axis = Axis("false negative identification rate", 1e-3, 1.0, True)
        charts.append(_figure("Identification", false, missed_axis, identification))
    if cmc and len(cmc[0].x) > 1:
        low = float(np.floor(min(line.y.min() for line in cmc) * 10) / 10)
        charts.append(
            _figure(
                "CMC",
                Axis("rank", 1, float(len(cmc[0].x))),
                Axis("share of queries", min(low, 0.9), 1),
                cmc,
            )
        )
    return charts


def _curve_charts(curve: BackfillingCurve | None) -> list[str]:
    if curve is None:
        return []
    charts = []
    for metric, values in curve.values.items():
        share = curve.cutoffs[metric] / curve.items
        series = [Series("all queries", share, values)]
        series += [
            Series(name, share, curves[metric]) for name, curves in curve.groups.items()
        ]
        low = float(np.floor(min(line.y.min() for line in series) * 10) / 10)
        high = float(np.ceil(max(line.y.max() for line in series) * 10) / 10)
        charts.append(
            _figure(
                f"Backfilling: {metric}",
                Axis("share of the gallery embedded anew", 0, 1),
                Axis(metric, low, max(high, low + 0.1)),
                series,
            )
        )
    return charts
