"""The demo's outcome for people: a page with plots and a sheet of search results."""

import base64
import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")  # Before pyplot: the demo runs without a screen.

from matplotlib import pyplot as plt
from PIL import Image, ImageDraw, ImageFont

CELL = 96  # pixels a picture is drawn at on the sheet
COLOURS = {"old_old": "#8d99ae", "new_old": "#2a9d8f", "new_new": "#264653"}
WORDS = {
    "old_old": "M(old, old): before",
    "new_old": "M(new, old): nothing re-embedded",
    "new_new": "M(new, new): everything re-embedded",
}


def _show(value: float | None, signed: bool = False) -> str:
    if value is None:
        return "-"
    return f"{value:+.4f}" if signed else f"{value:.4f}"


def _gate(model: Mapping[str, Any]) -> str:
    if not model["promoted"]:
        return "refused"
    # Without a predecessor there was nothing to prove.
    alone = all(numbers["old_old"] is None for numbers in model["evidence"].values())
    return "bootstrap" if alone else "promoted"


def table_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """Lays the summary out as a table, one row a model and metric.

    Args:
        summary: The content of `summary.json`.

    Returns:
        Rows of text; the first one holds the headings.
    """
    rows = [
        [
            "model",
            "version",
            "metric",
            "M(old, old)",
            "M(new, old)",
            "M(new, new)",
            "difference, 95 %",
            "gain",
            "gate",
        ]
    ]
    for model in summary["models"]:
        for metric, numbers in model["evidence"].items():
            interval = numbers["difference_interval"]
            rows.append(
                [
                    model["name"],
                    model["version"],
                    metric,
                    _show(numbers["old_old"]),
                    _show(numbers["new_old"]),
                    _show(numbers["new_new"]),
                    "-"
                    if interval is None
                    else f"[{_show(interval[0], True)}, {_show(interval[1], True)}]",
                    "-" if numbers["gain"] is None else f"{numbers['gain']:.0%}",
                    _gate(model),
                ]
            )
    return rows


def plot_evidence(summary: Mapping[str, Any]) -> bytes:
    """Draws the three measurements of every model, a panel a metric.

    Args:
        summary: The content of `summary.json`.

    Returns:
        A PNG file.
    """
    models = [m for m in summary["models"] if m["name"] != "phi1"]
    metrics = list(models[0]["evidence"])
    size = (4 * len(metrics), 3.6)
    figure, ((*axes,),) = plt.subplots(1, len(metrics), figsize=size, squeeze=False)
    for axis, metric in zip(axes, metrics, strict=True):
        for place, model in enumerate(models):
            numbers = model["evidence"][metric]
            for offset, kind in enumerate(COLOURS):
                value = numbers[kind]
                position = place + (offset - 1) * 0.26
                bar = axis.bar(
                    position,
                    value,
                    width=0.24,
                    color=COLOURS[kind],
                    label=WORDS[kind] if place == 0 else None,
                )
                axis.bar_label(bar, fmt="%.3f", fontsize=7)
            low, high = numbers["difference_interval"]
            base = numbers["old_old"]
            axis.vlines(place, base + low, base + high, color="black", linewidth=1.5)
        axis.set_title(metric, fontsize=10)
        axis.set_xticks(range(len(models)), [model["name"] for model in models])
        axis.set_ylim(0, 1.05)
        axis.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    return _png(figure)


def plot_differences(summary: Mapping[str, Any]) -> bytes:
    """Draws the interval of M(new, old) - M(old, old), the quantity of the gate.

    Args:
        summary: The content of `summary.json`.

    Returns:
        A PNG file.
    """
    models = [m for m in summary["models"] if m["name"] != "phi1"]
    figure, axis = plt.subplots(figsize=(8, 2.8))
    labels = []
    for model in models:
        for metric, numbers in model["evidence"].items():
            low, high = numbers["difference_interval"]
            middle = numbers["new_old"] - numbers["old_old"]
            place = len(labels)
            colour = COLOURS["new_old"] if low > 0 else "#c1121f"
            axis.hlines(place, low, high, color=colour, linewidth=4, alpha=0.5)
            axis.plot(middle, place, "o", color=colour)
            axis.annotate(
                f"{middle:+.4f}",
                (middle, place),
                textcoords="offset points",
                xytext=(0, 7),
                ha="center",
                fontsize=7,
            )
            labels.append(f"{model['name']}: {metric}")
    axis.axvline(0, color="black", linewidth=1)
    axis.set_xscale("symlog", linthresh=0.02)
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.set_xlabel("M(new, old) - M(old, old), 95 % interval (paired bootstrap)")
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(y=0.2)
    figure.tight_layout()
    return _png(figure)


def draw_search_sheet(
    searches: Sequence[tuple[bytes, str, Sequence[tuple[bytes, str, float]]]],
) -> bytes:
    """Draws queries and what was found, one row a query.

    Args:
        searches: For each query its picture (PNG bytes), its label, and what was found
            as (picture, label, score), best first. A hit has the query's label.

    Returns:
        A PNG file: the query at the left, green frames for hits, red ones for others.
    """
    columns = 1 + max(len(found) for _, _, found in searches)
    pad, head = 8, 30
    size = (columns * (CELL + pad) + 3 * pad, len(searches) * (CELL + pad + 14) + head)
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default()
    draw.text((pad, pad), "query (new model)", fill="black", font=font)
    draw.text(
        (CELL + 4 * pad, pad),
        "found among embeddings of the OLD model, score below",
        fill="black",
        font=font,
    )
    for row, (query, label, found) in enumerate(searches):
        top = head + row * (CELL + pad + 14)
        sheet.paste(_picture(query), (pad, top))
        for column, (picture, found_label, score) in enumerate(found):
            left = CELL + 4 * pad + column * (CELL + pad)
            sheet.paste(_picture(picture), (left, top))
            colour = "#2a9d8f" if found_label == label else "#c1121f"
            box = (left - 2, top - 2, left + CELL + 1, top + CELL + 1)
            draw.rectangle(box, outline=colour, width=3)
            text = (left + 2, top + CELL + 2)
            draw.text(text, f"{score:.3f}", fill=colour, font=font)
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG")
    return buffer.getvalue()


def render_page(
    summary: Mapping[str, Any],
    lineage: str,
    sheet: bytes,
    gate_metrics: Sequence[str],
) -> str:
    """Writes the report as one self-contained page.

    Args:
        summary: The content of `summary.json`.
        lineage: The text that `registry lineage` prints.
        sheet: The PNG of `draw_search_sheet`.
        gate_metrics: The metrics that the protocol's gate asks.

    Returns:
        HTML with its pictures inside, for narrow screens and dark mode too.
    """
    heading, *rows = table_rows(summary)
    cells = "".join(f"<th>{html.escape(text)}</th>" for text in heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
        for row in rows
    )
    environment = ", ".join(f"{k} {v}" for k, v in summary["environment"].items())
    index = summary["index"]
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A new embedding model without re-embedding the gallery</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: auto;
  padding: 1rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .7rem; border-bottom: 1px solid #8886; text-align: left; }}
img {{ max-width: 100%; background: white; border-radius: 6px; }}
pre {{ overflow-x: auto; }}
small {{ opacity: .8; }}
</style>
<h1>A new embedding model without re-embedding the gallery</h1>
<p>Three versions of one model were trained by the TFX pipeline. The gallery of
{index["rows"]:,} pictures was embedded once, by phi1. <b>{summary["production"]}</b> is
in production now and searches those old embeddings. The paragon of the gain is
{summary["paragon"]}, trained without any compatibility term.</p>
<div class="wide"><table><tr>{cells}</tr>{body}</table></div>
<h2>What each model measures</h2>
<img alt="M(old, old), M(new, old) and M(new, new) by metric"
 src="{_inline(plot_evidence(summary))}">
<p><small>The black line is the 95 % interval of M(new, old) - M(old, old), drawn from
M(old, old).</small></p>
<h2>What the gate reads</h2>
<p>The gate of this protocol asks {html.escape(", ".join(gate_metrics))}; the interval
must lie above zero. The other metrics are shown for the reader to weigh: 600 probes
without a mate decide TPIR at FPIR 0.01, six of them at the threshold.</p>
<img alt="Intervals of the differences" src="{_inline(plot_differences(summary))}">
<h2>Search</h2>
<p>Queries by {summary["production"]}, gallery by phi1. The ScaNN index has recall@10
{index["recall_at_10"]:.4f} against exact search.</p>
<img alt="Queries and what was found" src="{_inline(sheet)}">
<h2>Lineage</h2>
<pre>{html.escape(lineage)}</pre>
<p><small>{html.escape(environment)}. {summary["seconds"]:.0f} seconds. Kanji stand for
faces here: a character is an identity, a typeface a camera; the test characters are in
nobody's training set.</small></p>
</html>
"""


def _picture(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    return picture.resize((CELL, CELL), Image.Resampling.BICUBIC)


def _png(figure: plt.Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    return buffer.getvalue()


def _inline(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()
