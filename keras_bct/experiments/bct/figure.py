"""A table's numbers as a picture."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_bct.experiments.bct.measured import Measured
from keras_bct.experiments.bct.report import Report

_SHOWN = 0.75
"""Of M(old, old): what is lower would press everything else together."""

_COLUMNS = 3
"""Of panels beside each other, so that a page's width leaves them readable."""

_GREY, _BLUE, _GREEN, _ORANGE = "#555555", "#1f5fa8", "#2f9e6e", "#c9791b"


def draw(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes one panel a metric as PNG; every seed has a mark of its own.

    Args:
        report: The numbers.
        path: The file; one that is there is replaced.
    """
    count = len(report.metrics)
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    chain = report.table.layout == "chain"
    height = rows * (4.0 if chain else 1.6 + 0.45 * len(report.titles))
    figure = Figure(figsize=(4.4 * columns + 1.6, height), dpi=90)
    grid = figure.subplots(rows, columns, sharey=not chain, squeeze=False).ravel()
    panels = grid[:count]
    for empty in grid[count:]:
        empty.set_axis_off()
    for panel, metric in zip(panels, report.metrics, strict=True):
        (_draw_chain if chain else _draw_rows)(panel, report, metric)
        panel.set_title(metric, fontsize=10)
        panel.grid(axis="y" if chain else "x", color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
    named: dict[str, Artist] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        named.update(zip(labels, handles, strict=True))
    figure.legend(
        list(named.values()), list(named), loc="lower center", ncols=5, frameon=False
    )
    figure.tight_layout(rect=(0, 0.35 / height, 1, 1))
    figure.savefig(path)


def _draw_rows(panel: Axes, report: Report, metric: str) -> None:
    """A line a row and seed; a bar is the interval of the difference that matters."""
    own = report.table.layout == "self"
    for place, title in enumerate(report.titles):
        for seed, measured in report.of(title, metric).items():
            y = place + 0.2 * (seed - (report.seeds - 1) / 2)
            if own:
                _mark_self_test(panel, measured, y)
            else:
                _mark_against_old(panel, measured, y)
    panel.set_yticks(range(len(report.titles)), report.titles)
    panel.set_ylim(len(report.titles) - 0.4, -0.6)
    if not own:
        _leave_out_failures(panel, report, metric)


def _leave_out_failures(panel: Axes, report: Report, metric: str) -> None:
    """Says in words where a value lies so low that the others would merge."""
    values: list[float] = []
    for place, title in enumerate(report.titles):
        for measured in report.of(title, metric).values():
            seen = (measured.new_old, measured.new_mixed)
            floor = measured.old_old * _SHOWN
            values += [measured.old_old, measured.new_new]
            values += [value for value in seen if value >= floor]
            if measured.new_old < floor:
                panel.annotate(
                    f" M(new, old) = {measured.new_old:.3f}",
                    (0, place),
                    xycoords=("axes fraction", "data"),
                    color=_BLUE,
                    fontsize=8,
                    va="center",
                )
    if values:
        room = 0.08 * (max(values) - min(values)) + 0.005
        panel.set_xlim(min(values) - 4 * room, max(values) + room)


def _mark_against_old(panel: Axes, measured: Measured, y: float) -> None:
    low, high = measured.difference_interval
    ends = [measured.old_old + low, measured.old_old + high]
    panel.plot(ends, [y, y], color=_BLUE, linewidth=3, alpha=0.35)
    for value, mark, colour, label in (
        (measured.old_old, "|", _GREY, "M(old, old)"),
        (measured.new_old, "o", _BLUE, "M(new, old), 95 % of the difference"),
        (measured.new_mixed, "d", _GREEN, "M(new, mixed)"),
        (measured.new_new, "x", _ORANGE, "M(new, new)"),
    ):
        panel.plot(value, y, mark, color=colour, markersize=6, label=label)


def _mark_self_test(panel: Axes, measured: Measured, y: float) -> None:
    if measured.paragon is not None and measured.self_interval is not None:
        low, high = measured.self_interval
        ends = [measured.paragon + low, measured.paragon + high]
        panel.plot(ends, [y, y], color=_ORANGE, linewidth=3, alpha=0.35)
        panel.plot(
            measured.paragon, y, "|", color=_GREY, markersize=6, label="M(new*, new*)"
        )
    panel.plot(
        measured.new_new,
        y,
        "x",
        color=_ORANGE,
        markersize=6,
        label="M(new, new), 95 % of the difference",
    )


def _draw_chain(panel: Axes, report: Report, metric: str) -> None:
    """Every gallery's curve over the version that embeds the queries."""
    second, third, third_second = (report.of(t, metric) for t in report.titles[:3])
    curves: tuple[tuple[str, str, dict[int, Callable[[int], float]]], ...] = (
        (
            "gallery of phi1",
            _GREY,
            {
                1: lambda seed: second[seed].old_old,
                2: lambda seed: second[seed].new_old,
                3: lambda seed: third[seed].new_old,
            },
        ),
        (
            "gallery of phi2",
            _BLUE,
            {
                2: lambda seed: third_second[seed].old_old,
                3: lambda seed: third_second[seed].new_old,
            },
        ),
        ("gallery of phi3", _ORANGE, {3: lambda seed: third[seed].new_new}),
    )
    for label, colour, points in curves:
        for seed in _complete(second, third, third_second):
            versions = list(points)
            values = [points[version](seed) for version in versions]
            panel.plot(versions, values, "o-", color=colour, alpha=0.8, label=label)
    panel.set_xticks([1, 2, 3], ["phi1", "phi2", "phi3"])
    panel.set_xlabel("queries embedded by")


def _complete(*rows: Mapping[int, Measured]) -> list[int]:
    return [seed for seed in rows[0] if all(seed in row for row in rows)]
