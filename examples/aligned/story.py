"""A successor that was trained freely, and the old gallery through a map.

    python -m examples.aligned.story --output out/aligned

Small enough for two cores and a few minutes: 30 kanji, 16 and 24 components. The
numbers are of that size too.
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import shutil
import sys
from collections.abc import Iterator

import numpy as np

from keras_bct.command_line import escape_what_cannot_be_printed
from keras_bct.configuration import read_yaml
from keras_bct.data import glyphs, read_records, write_records
from keras_bct.data.glyph_records import to_records
from registry import Registry
from tfx_pipeline.local_runner import Outcome, run
from tfx_pipeline.pipeline import PipelineConfiguration

HERE = pathlib.Path(__file__).parent
SCHEMA = HERE.parent / "kanji" / "schema.pbtxt"
ALIAS = "glyphs@production"


@dataclasses.dataclass(frozen=True)
class Story:
    """What happened.

    Attributes:
        runs: What each run of the pipeline came to, in order.
        lineage: The registry's, for a terminal.
        right: Share of queries whose nearest row, among the mapped ones, is of their
            character.
    """

    runs: tuple[Outcome, ...]
    lineage: str
    right: float


def main() -> None:
    """Tells the story into `--output`."""
    escape_what_cannot_be_printed()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, default="out/aligned")
    output = parser.parse_args().output.resolve()
    if output.exists() and any(output.iterdir()):
        sys.exit(
            f"--output should be an empty or new directory. Received: {output}, which "
            "holds an earlier run; remove it or name another"
        )
    told = tell(output)
    print(told.lineage)
    print(f"{told.right:.0%} of the queries find their character first")


def tell(output: pathlib.Path) -> Story:
    """Runs both pipelines, then asks what the map was for.

    Args:
        output: An empty or new directory; the registry stays there.

    Returns:
        What happened.
    """
    write_data(output / "data")
    with _working_in(output):
        registry = Registry.init("registry")
        runs = tuple(
            run(read_yaml(PipelineConfiguration, HERE / f"{name}.yaml"))
            for name in ("old", "free")
        )
        queries = read_records("data/queries.tfrecord")
        found = registry.search(ALIAS, queries.images, k=1)
        right = [
            hits[0].label == label
            for hits, label in zip(found, queries.labels, strict=True)
        ]
        return Story(runs, registry.lineage("glyphs").render(), float(np.mean(right)))


def write_data(folder: pathlib.Path) -> None:
    """Writes the pictures, their schema and the protocol.

    The queries' typefaces are new to the old model and known to its successor.

    Args:
        folder: Made here.
    """
    folder.mkdir(parents=True)
    kanji = glyphs.load()
    characters = kanji.split("train").characters
    query_faces, gallery_faces = kanji.typefaces[:6], kanji.typefaces[6:]
    for name, classes, typefaces in [
        ("train-old", characters[:20], gallery_faces),
        ("train", characters[:30], kanji.typefaces),
        ("queries", characters[:20], query_faces),
        ("gallery", characters[:20], gallery_faces),
    ]:
        chosen = kanji.select(characters=classes, typefaces=typefaces)
        write_records(folder / f"{name}.tfrecord", to_records(chosen))
    shutil.copy(SCHEMA, folder)
    shutil.copy(HERE / "few-kanji.yaml", folder)


@contextlib.contextmanager
def _working_in(folder: pathlib.Path) -> Iterator[None]:
    """The run files' paths are relative to the working directory."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    main()
