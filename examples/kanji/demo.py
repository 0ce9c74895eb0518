"""The main job, end to end, on real pictures.

Draws nothing and downloads nothing: the kanji are embedded in `keras_bct.data`. Trains
phi1, a free successor and a compatible one through the TFX pipeline, lets the registry
decide, and searches the old embeddings with the promoted model.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from examples.kanji import report
from keras_bct.command_line import escape_what_cannot_be_printed
from keras_bct.data import glyphs, read_records
from keras_bct.data.glyph_records import write_directory
from keras_bct.evaluation import Protocol
from registry import Registry

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
RUNS = ("phi1", "independent", "beta-sys")
EXIT_REFUSED = 3
SEARCHED = 8


def main() -> None:
    """Runs the demo into `--output`."""
    escape_what_cannot_be_printed()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "out" / "demo")
    # The installation belongs to the demo's 20 minutes; make knows when it began.
    parser.add_argument("--started", type=float, default=time.time())
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    if output.exists() and any(output.iterdir()):
        sys.exit(
            f"--output should be an empty or new directory. Received: {output}, which "
            "holds an earlier run; remove it or name another"
        )
    output.mkdir(parents=True, exist_ok=True)

    print("writing the kanji as TFRecords", flush=True)
    write_directory(output / "data", glyphs.load())
    shutil.copy(HERE / "schema.pbtxt", output / "data")
    registry = Registry.init(output / "registry")
    promoted = {name: run_pipeline(name, output) for name in RUNS}

    summary = summarise(registry, promoted, arguments.started)
    sheet = report.draw_search_sheet(search(registry, output / "data"))
    (output / "search.png").write_bytes(sheet)
    page = report.render_page(
        summary,
        registry.lineage("glyphs").render(),
        sheet,
        Protocol.from_yaml(output / "data" / "kanji-test.yaml").gate_metrics,
    )
    (output / "report.html").write_text(page, encoding="utf-8")
    (output / "summary.json").write_text(
        json.dumps(summary, indent=2), encoding="utf-8"
    )

    heading, *rows = report.table_rows(summary)
    table = Table(*(Column(text, overflow="fold", min_width=8) for text in heading))
    for row in rows:
        table.add_row(*row)
    Console(width=max(150, Console().width)).print(table)
    print(f"{summary['production']} is in production, after {summary['seconds']:.0f} s")
    print(f"report: {output / 'report.html'}\nsearch: {output / 'search.png'}")


def run_pipeline(name: str, output: pathlib.Path) -> bool:
    """Runs one pipeline as a process of its own, as a user would.

    Args:
        name: The run file in this folder, without its ending.
        output: The working directory of the run.

    Returns:
        Whether the gate let the version be promoted.
    """
    print(f"\n== {name}: python -m tfx_pipeline.local_runner {name}.yaml", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "tfx_pipeline.local_runner", HERE / f"{name}.yaml"],
        cwd=output,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    if done.returncode not in (0, EXIT_REFUSED):
        sys.exit(f"the run {name} failed with exit code {done.returncode}")
    return done.returncode == 0


def summarise(
    registry: Registry, promoted: Mapping[str, bool], started: float
) -> dict[str, Any]:
    """Gathers what the registry knows now.

    Args:
        registry: The demo's registry.
        promoted: For each run whether its version was promoted, in order.
        started: When the demo began, seconds since the epoch.

    Returns:
        The content of `summary.json`.
    """
    evidence = {
        name: registry.evidence_of(registry.version(f"glyphs/{number}"))
        for number, name in enumerate(promoted, start=1)
    }
    # phi1 has no predecessor; what it measures by itself is the base of the others.
    base = {m.metric: m.old_old for m in evidence["beta-sys"][0].metrics}
    alone = {
        "old_old": None,
        "new_old": None,
        "gain": None,
        "difference_interval": None,
    }
    models = []
    for number, (name, was_promoted) in enumerate(promoted.items(), start=1):
        models.append(
            {
                "name": name,
                "version": f"glyphs/{number}",
                "blessed": was_promoted,
                "promoted": was_promoted,
                "evidence": {
                    m.metric: {
                        "old_old": m.old_old,
                        "new_old": m.new_old,
                        "new_new": m.new_new,
                        "gain": m.gain,
                        "difference_interval": [m.low, m.high],
                    }
                    for m in evidence[name][0].metrics
                }
                if evidence[name]
                else {metric: {**alone, "new_new": m} for metric, m in base.items()},
            }
        )
    production = registry.alias("glyphs@production")
    assert production.index is not None
    return {
        "environment": {
            "python": platform.python_version(),
            **{p: metadata.version(p) for p in ("tensorflow", "keras", "tfx", "scann")},
            "libc": "-".join(platform.libc_ver()),
            "cores": os.cpu_count(),
        },
        "seconds": round(time.time() - started, 1),
        "production": str(production.version),
        "paragon": "glyphs/2",
        "models": models,
        "index": {
            "rows": production.index.rows,
            "recall_at_10": production.index.recall_at_10,
        },
    }


def search(
    registry: Registry, data: pathlib.Path
) -> list[tuple[bytes, str, list[tuple[bytes, str, float]]]]:
    """Searches evenly spaced test queries with the version in production.

    Args:
        registry: The demo's registry.
        data: Where the TFRecords lie.

    Returns:
        What `report.draw_search_sheet` draws.
    """
    queries = read_records(str(data / "test-queries.tfrecord"))
    gallery = read_records(str(data / "test-gallery.tfrecord"))
    pictures = dict(zip(gallery.ids, gallery.images, strict=True))
    labels = dict(zip(gallery.ids, gallery.labels, strict=True))
    mated = [
        i for i, label in enumerate(queries.labels) if label in set(gallery.labels)
    ]
    chosen = mated[:: len(mated) // SEARCHED][:SEARCHED]
    results = registry.search(
        "glyphs@production", [queries.images[i] for i in chosen], k=5
    )
    return [
        (
            queries.images[i],
            queries.labels[i],
            [(pictures[hit.id], labels[hit.id], hit.score) for hit in hits],
        )
        for i, hits in zip(chosen, results, strict=True)
    ]


if __name__ == "__main__":
    main()
