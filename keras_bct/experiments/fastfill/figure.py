"""The backfilling curves as a picture."""

from __future__ import annotations

import os

import numpy as np
from matplotlib.figure import Figure

from keras_bct.experiments.fastfill.report import FastFillReport

_COLOURS = ("#1f5fa8", "#c9791b", "#2f9e6e", "#a8324a", "#7a4fb5", "#555555", "#11a0b0")


def draw(report: FastFillReport, path: str | os.PathLike[str]) -> None:
    """Writes one panel a setting as PNG: mAP over the share backfilled, seeds' mean.

    Rows of one map share a colour; the random order is dashed.

    Args:
        report: The numbers.
        path: The file; one that is there is replaced.
    """
    settings = report.table.settings
    figure = Figure(figsize=(5.6 * len(settings), 5.4), dpi=90)
    panels = figure.subplots(1, len(settings), squeeze=False)[0]
    shares = 100 * np.linspace(0, 1, 22)
    for panel, setting in zip(panels, settings, strict=True):
        colours: dict[str, str] = {}
        for title in report.titles:
            found = report.of(setting, title)
            if not found:
                continue
            colour = colours.setdefault(
                report.map_of(title), _COLOURS[len(colours) % len(_COLOURS)]
            )
            panel.plot(
                shares,
                np.mean([numbers.main.points for numbers in found], axis=0),
                label=title,
                color=colour,
                linestyle="--" if title.endswith("random") else "-",
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
