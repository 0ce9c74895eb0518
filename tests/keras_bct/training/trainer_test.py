"""Every kind of training leaves a version that embeds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_bct.classifier import Classifier
from keras_bct.data import glyphs, write_records
from keras_bct.data.glyph_records import to_records
from keras_bct.models import load_embedder
from keras_bct.training import Recipe
from keras_bct.training.trainer import SIZE_MAP, train

STEPS = 10


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six characters in four typefaces, of which the old model knows three."""
    directory = tmp_path_factory.mktemp("data")
    pictures = glyphs.load()
    few = {"typefaces": pictures.typefaces[:4]}
    for part, count in (("old", 3), ("new", 6)):
        chosen = pictures.select(characters=pictures.characters[:count], **few)
        write_records(directory / f"{part}.tfrecord", to_records(chosen))
    old = Recipe("independent", 2, STEPS, embedding_size=4, batch_size=8)
    train(old, [str(directory / "old.tfrecord")], str(directory / "version"))
    return directory


def successor(data: Path, directory: Path, **fields: Any) -> Path:
    recipe = Recipe(width=2, steps=STEPS, batch_size=8, **fields)
    train(
        recipe,
        [str(data / "new.tfrecord")],
        str(directory / "version"),
        predecessor=str(data / "version"),
    )
    return directory / "version"


def test_a_successor_embeds_and_knows_its_classes(data: Path, tmp_path: Path) -> None:
    version = successor(
        data,
        tmp_path,
        method="lwf",
        loss="normsoftmax",
        backbone="deep-glyph",
        old_rows="means",
        embedding_size=4,
        relu=True,
    )
    embeddings = load_embedder(version).embed(np.zeros((1, 32, 32, 1), np.float32))
    assert embeddings.shape == (1, 4)
    assert (embeddings >= 0).all()
    classifier = Classifier.load(version / "assets.extra")
    assert (classifier.kind, classifier.classes) == ("normsoftmax", 6)


def test_a_learned_map_lies_beside_the_classifier(data: Path, tmp_path: Path) -> None:
    version = successor(
        data, tmp_path, method="beta-kd", embedding_size=7, size_map=True
    )
    assert np.load(version / "assets.extra" / SIZE_MAP).shape == (7, 4)
    assert load_embedder(version).embedding_size == 7


def test_a_method_that_follows_asks_for_a_predecessor(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train the first version with"):
        train(Recipe("beta", 2, STEPS), ["none"], str(tmp_path / "version"))
