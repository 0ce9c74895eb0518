"""Six characters in four typefaces, an old version of three of them, a protocol."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

PROTOCOL = """\
name: small
queries: {source: tfrecord, path: new.tfrecord}
gallery: {source: tfrecord, path: new.tfrecord}
metrics: [retrieval/mAP, retrieval/CMC@1]
gate: {metrics: [retrieval/mAP]}
"""


@dataclasses.dataclass(frozen=True)
class Place:
    """A folder with pictures and a trained old version."""

    directory: Path

    @property
    def pictures(self) -> str:
        """Six characters in four typefaces."""
        return str(self.directory / "new.tfrecord")

    @property
    def version(self) -> str:
        """Trained on three of them, in four components."""
        return str(self.directory / "version")

    @property
    def protocol(self) -> str:
        """Every picture asked for among all others."""
        return str(self.directory / "small.yaml")

    def recipe(self, **fields: Any) -> Any:
        """A successor's recipe, as small as they come."""
        from keras_bct.training import Recipe

        small = {
            "method": "beta",
            "width": 2,
            "steps": 10,
            "batch_size": 8,
            "embedding_size": 4,
            "seed": 5,
        }
        return Recipe(**{**small, **fields})

    def train(self, output: Path, **fields: Any) -> Any:
        """Trains a successor into a folder that it can be resumed from."""
        from keras_bct.training import train

        output.mkdir(exist_ok=True)
        return train(
            self.recipe(**fields),
            [self.pictures],
            str(output / "version"),
            predecessor=self.version,
            log_directory=str(output / "logs"),
            work_directory=str(output),
            progress=False,
        )


def small_place(directory: Path) -> Place:
    """Writes pictures and protocol, and trains the old version."""
    from keras_bct.data import glyphs, write_records
    from keras_bct.data.glyph_records import to_records
    from keras_bct.training import Recipe, train

    pictures = glyphs.load()
    few = {"typefaces": pictures.typefaces[:4]}
    for part, count in (("old", 3), ("new", 6)):
        chosen = pictures.select(characters=pictures.characters[:count], **few)
        write_records(directory / f"{part}.tfrecord", to_records(chosen))
    (directory / "small.yaml").write_text(PROTOCOL, encoding="utf-8")
    old = Recipe("independent", 2, 10, embedding_size=4, batch_size=8)
    train(
        old,
        [str(directory / "old.tfrecord")],
        str(directory / "version"),
        progress=False,
    )
    return Place(directory)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Made once for all tests of this room."""
    return small_place(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="session")
def embedding_of() -> Any:
    """What a version says of some pictures: equal to the bit for equal weights."""
    import numpy as np

    from keras_bct.models import load_embedder

    pictures = np.random.default_rng(0).uniform(0, 255, (5, 32, 32, 1))

    def embed(version: Path | str) -> Any:
        return load_embedder(str(version)).embed(pictures.astype("float32"))

    return embed
