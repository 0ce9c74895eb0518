"""An experiment's numbers as Markdown and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from keras_bct.experiments.fastfill.curve_numbers import (
    MAIN,
    METRICS,
    QUARTER,
    CurveNumbers,
    area_interval,
    gap_interval,
    share_of_closing,
)
from keras_bct.experiments.fastfill.rows import FastFillTable, Setting
from keras_bct.experiments.harness.result_page import completeness, result_page


@dataclasses.dataclass(frozen=True)
class FastFillReport:
    """What an experiment's files say.

    Attributes:
        table: The description.
        results: By seed, setting and row title; a seed may lack rows.
        titles: The rows in their order, those without numbers included.
        seeds: How many seeds were asked for.
        provenance: Digests and versions.
        digests: By seed and row title the digest of the row's map.
    """

    table: FastFillTable
    results: Mapping[int, Mapping[str, Mapping[str, CurveNumbers]]]
    titles: tuple[str, ...]
    seeds: int
    provenance: Mapping[str, Any]
    digests: Mapping[int, Mapping[str, str]]

    @property
    def has_numbers(self) -> bool:
        """Whether any row of any seed is in."""
        return any(rows for seed in self.results.values() for rows in seed.values())

    def map_of(self, title: str) -> str:
        """What tells a row's map from others, in any order of the backfill."""
        return next(maps[title] for maps in self.digests.values() if title in maps)

    def of(self, setting: Setting, title: str) -> list[CurveNumbers]:
        """A row's numbers, seed by seed."""
        return [
            seed[setting.name][title]
            for _, seed in sorted(self.results.items())
            if title in seed[setting.name]
        ]


def to_json(report: FastFillReport) -> str:
    """Gives the numbers of every seed, setting and row as JSON text."""
    content = {
        "schema": 1,
        "table": report.table.name,
        "title": report.table.title,
        "seeds_asked_for": report.seeds,
        "provenance": report.provenance,
        "maps": {str(seed): digests for seed, digests in report.digests.items()},
        "seeds": {
            str(seed): {
                setting: {title: _plain(numbers) for title, numbers in rows.items()}
                for setting, rows in settings.items()
            }
            for seed, settings in sorted(report.results.items())
        },
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(numbers: CurveNumbers) -> dict[str, Any]:
    return {
        "metrics": {
            metric: {
                **dataclasses.asdict(curve),
                "area": curve.area,
                "normalised_area": curve.normalised,
            }
            for metric, curve in numbers.metrics.items()
        },
        "area_interval": area_interval(numbers),
        "groups": numbers.groups,
        "tau": numbers.tau,
    }


def to_markdown(report: FastFillReport) -> str:
    """Gives the experiment as Markdown: claims, then a table a setting and metric."""
    table = report.table
    sections = _claims(report) if report.has_numbers else []
    for setting in table.settings:
        sections += ["", f"## {setting.name.capitalize()}", ""]
        sections += [_alone(report, setting), "", *_areas(report, setting)]
        if table.by_group:
            sections += ["", *_gaps(report, setting)]
        sections += ["", *_other_metrics(report, setting)]
    found = {
        seed: [
            title
            for title in report.titles
            if all(title in rows for rows in settings.values())
        ]
        for seed, settings in report.results.items()
    }
    return result_page(
        table.title,
        table.name,
        table.title,
        table.about,
        seeds=report.seeds,
        complete=completeness(report.titles, found, report.seeds),
        picture=report.has_numbers,
        sections=sections,
        reading=_READING,
        provenance=report.provenance,
    )


_READING = (
    "- Queries and gallery are the same pictures, each query without itself; queries "
    "are embedded by the new model, and the gallery's mapped old embeddings give way "
    "to new ones in the row's order. Distance: cosine.",
    "- **0 %**: before the backfill. **area**: the plain mean over the papers' 22 "
    "cut-offs, with the 95 % interval of seed 0, classes resampled. **exact**: the "
    "area over all steps. **normalised**: (area - old/old) / (new/new - old/old), "
    "where new is the row's own new model.",
    "- **95 %, 99 %**: the least share of the gallery after which the curve reaches "
    "that much of new/new.",
    "- **tau**: Kendall's, of the row's priority against the oracle's: the loss of the "
    "item itself, as the row's map was trained by it (L_l2, and L_disc of its weight "
    "through the new model's classifier where that knows the classes; without a "
    "contrastive term), which needs what the backfill is to make.",
    "- A cell is the mean over seeds; [lowest, highest] where there are several.",
)


def _claims(report: FastFillReport) -> list[str]:
    if not report.table.claims:
        return []
    lines = ["", "## What was expected", "", "| | seed | holds | figures |"]
    lines.append("|---|---|---|---|")
    known = {*report.titles, *(setting.name for setting in report.table.settings)}
    for claim in report.table.claims:
        for seed, settings in sorted(report.results.items()):
            try:
                holds, figures = claim.judge(settings)
            except KeyError as missing:
                if missing.args[0] not in known:
                    raise
                continue
            lines.append(
                f"| {claim.sentence} | {seed} | {'yes' if holds else '**no**'} "
                f"| {figures} |"
            )
    return lines


def _alone(report: FastFillReport, setting: Setting) -> str:
    for title in reversed(report.titles):
        if found := report.of(setting, title):
            old = _cell(numbers.main.old_old for numbers in found)
            new = _cell(numbers.main.new_new for numbers in found)
            return f"mAP of the old model alone: {old}; of the new one: {new}."
    return ""


def _areas(report: FastFillReport, setting: Setting) -> list[str]:
    head = ("mAP", "0 %", "area", "interval", "exact", "normalised", "95 %", "99 %")
    lines = [_line(*head, "tau"), _line(*["---"] * (len(head) + 1))]
    for title in report.titles:
        found = report.of(setting, title)
        if not found:
            continue
        low, high = area_interval(found[0])
        curves = [numbers.main for numbers in found]
        taus = [numbers.tau for numbers in found if numbers.tau is not None]
        lines.append(
            _line(
                title,
                _cell(curve.start for curve in curves),
                _cell(curve.area for curve in curves),
                f"{low:.4f} to {high:.4f}",
                _cell(curve.exact_area for curve in curves),
                _cell((curve.normalised for curve in curves), 3),
                _cell((100 * curve.shares[0] for curve in curves), 0),
                _cell((100 * curve.shares[1] for curve in curves), 0),
                _cell(taus, 2) if taus else "-",
            )
        )
    return lines


def _gaps(report: FastFillReport, setting: Setting) -> list[str]:
    """The gap between the groups at the start, at a quarter, and of the new model."""
    groups = {
        group
        for title in report.titles
        for numbers in report.of(setting, title)
        for group in numbers.groups
    }
    if not groups:
        return []
    first, second = sorted(groups)
    gap = f"mAP {first} - {second}"
    head = (gap, "0 %", "24 %", "interval", "100 %", "interval", "closed")
    lines = [_line(*head), _line(*["---"] * len(head))]
    for title in report.titles:
        found = report.of(setting, title)
        if not found:
            continue
        gaps = np.array(
            [np.subtract(item.groups[first], item.groups[second]) for item in found]
        )
        quarter = gap_interval(found[0], QUARTER)
        end = gap_interval(found[0], -1)
        lines.append(
            _line(
                title,
                _cell(gaps[:, 0]),
                _cell(gaps[:, QUARTER]),
                f"{quarter[0]:.4f} to {quarter[1]:.4f}",
                _cell(gaps[:, -1]),
                f"{end[0]:.4f} to {end[1]:.4f}",
                _cell((100 * share_of_closing(item) for item in found), 0),
            )
        )
    return lines


def _other_metrics(report: FastFillReport, setting: Setting) -> list[str]:
    others = [metric for metric in METRICS if metric != MAIN]
    names = [metric.split("/")[1] for metric in others]
    head = [f"{name} {what}" for name in names for what in ("0 %", "area", "new/new")]
    lines = [_line("", *head), _line(*["---"] * (len(head) + 1))]
    values: tuple[Callable[[Any], float], ...] = (
        lambda curve: curve.start,
        lambda curve: curve.area,
        lambda curve: curve.new_new,
    )
    for title in report.titles:
        found = report.of(setting, title)
        if found:
            cells = [
                _cell(value(numbers.metrics[metric]) for numbers in found)
                for metric in others
                for value in values
            ]
            lines.append(_line(title, *cells))
    return lines


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(values: Iterable[float], digits: int = 4) -> str:
    numbers = list(values)
    mean = f"{np.mean(numbers):.{digits}f}"
    if len(numbers) == 1:
        return mean
    return f"{mean} [{min(numbers):.{digits}f}, {max(numbers):.{digits}f}]"
