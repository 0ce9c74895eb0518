"""The rows that a recipe asks for, and which pictures they are made of."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_bct.classifier import Classifier, synthesize
from keras_bct.data import read_records
from keras_bct.models import load_embedder
from keras_bct.training.old_classifier import old_classifier
from keras_bct.training.pictures import TrainingPictures


@pytest.fixture
def trained(place: Any) -> Classifier:
    """The old version's own classifier."""
    return Classifier.load(Path(place.version) / "assets.extra")


@pytest.fixture
def embedded(place: Any) -> tuple[Any, Any]:
    """Old embeddings and labels of all training pictures."""
    records = read_records(place.pictures)
    old = load_embedder(place.version)
    return old.embed_bytes(records.images, records.ids.tolist()), records.labels


def made(place: Any, **fields: Any) -> Classifier:
    recipe = place.recipe(**fields)
    pictures = TrainingPictures(recipe, [place.pictures])
    return old_classifier(recipe, place.version, pictures)


def test_rows_stay_as_they_were_trained(place: Any, trained: Classifier) -> None:
    rows = made(place)
    np.testing.assert_array_equal(rows.weights, trained.weights)
    assert rows.class_names == trained.class_names


def test_beta_sys_adds_the_classes_that_are_new(
    place: Any, trained: Classifier, embedded: Any
) -> None:
    rows = made(place, method="beta-sys")
    wanted = synthesize(trained, embedded[0], embedded[1].tolist())
    assert rows.class_names == wanted.class_names
    np.testing.assert_allclose(rows.weights, wanted.weights, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["beta", "beta-sys"])
def test_means_have_the_directions_of_a_classifier_from_embeddings(
    method: str, place: Any, trained: Classifier, embedded: Any
) -> None:
    rows = made(place, method=method, old_rows="means", scale=20.0, margin=0.1)
    embeddings, labels = embedded
    chosen = np.isin(labels, trained.class_names) | (method == "beta-sys")
    wanted = Classifier.from_embeddings(
        embeddings[chosen], labels[chosen].tolist(), scale=20.0, margin=0.1
    )
    assert rows.class_names == wanted.class_names
    assert (rows.kind, rows.scale, rows.margin) == ("cosface", 20.0, 0.1)
    directions = rows.weights / np.linalg.norm(rows.weights, axis=1, keepdims=True)
    np.testing.assert_allclose(directions, wanted.weights, rtol=1e-5, atol=1e-6)


def test_means_keep_their_length_to_the_bit(place: Any, trained: Classifier) -> None:
    # Versions are kept under the digest of such a recipe; other bits are others.
    rows = made(place, old_rows="means")
    records = read_records(place.pictures)
    known = np.flatnonzero(np.isin(records.labels, trained.class_names))
    embeddings = load_embedder(place.version).embed_bytes(
        [records.images[row] for row in known], records.ids[known].tolist()
    )
    for name, row in zip(rows.class_names, rows.weights, strict=True):
        mean = embeddings[records.labels[known] == name].mean(axis=0)
        np.testing.assert_array_equal(row, mean)
