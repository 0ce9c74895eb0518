"""The backfilling curves as a picture."""

from __future__ import annotations

import os

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from keras_bct.experiments.fastfill.report import FastFillReport

_MOST_LINES = 20

# By the last words of a title, which name the order.
_LINES = {"random": "--", "entropy": "-.", "linear oracle": (0, (1, 3)), "oracle": ":"}


def draw(report: FastFillReport, path: str | os.PathLike[str]) -> None:
    """Writes one panel a setting as PNG: mAP over the share backfilled, seeds' mean.

    Rows of one map share a colour, and the order has its kind of line. Where there are
    too many rows, those in random order are left out of maps that have another.

    Args:
        report: The numbers.
        path: The file; one that is there is replaced.
    """
    settings = report.table.settings
    figure = Figure(figsize=(5.6 * len(settings), 5.4), dpi=90)
    panels = figure.subplots(1, len(settings), squeeze=False)[0]
    palette = mpl.colormaps["tab10" if len(report.titles) <= _MOST_LINES else "tab20"]
    shares = 100 * np.linspace(0, 1, 22)
    for panel, setting in zip(panels, settings, strict=True):
        colours: dict[str, object] = {}
        for title in _shown(report):
            found = report.of(setting, title)
            if not found:
                continue
            colour = colours.setdefault(
                report.map_of(title), palette(len(colours) % palette.N)
            )
            panel.plot(
                shares,
                np.mean([numbers.main.points for numbers in found], axis=0),
                label=title,
                color=colour,
                linestyle=next(
                    (line for order, line in _LINES.items() if title.endswith(order)),
                    "-",
                ),
                linewidth=1.4,
            )
        panel.set_title(setting.name, fontsize=10)
        panel.set_xlabel("share of the gallery that is new, %")
        panel.grid(color="#dddddd", linewidth=0.6)
    panels[0].set_ylabel("mAP")
    handles, labels = panels[0].get_legend_handles_labels()
    rows = -(-len(labels) // 3)
    figure.legend(
        handles, labels, loc="lower center", ncols=3, frameon=False, fontsize=8
    )
    figure.tight_layout(rect=(0, 0.04 * rows + 0.02, 1, 1))
    figure.savefig(path)


def _shown(report: FastFillReport) -> list[str]:
    titles = list(report.titles)
    if len(titles) <= _MOST_LINES:
        return titles
    maps = [report.map_of(title) for title in titles]
    return [
        title
        for title, its_map in zip(titles, maps, strict=True)
        if not title.endswith("random") or maps.count(its_map) == 1
    ]
