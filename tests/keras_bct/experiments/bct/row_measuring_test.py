"""A row's numbers, on embeddings small enough to be checked by hand."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_bct.evaluation import Bootstrap, EmbeddingSet, Protocol, Source
from keras_bct.experiments import Recipe, Row, Training
from keras_bct.experiments.bct.row_measuring import (
    OF_TEMPLATES,
    RowMeasuring,
    Sides,
    agreement,
    mixed,
)

OLD = Training("old", Recipe("independent", 4, 10), "train-old")
NEW = Training("beta", Recipe("beta", 4, 10, embedding_size=3), "train", OLD)
SIDE = Source("tfrecord", "test.tfrecord")
TEST = Sides(
    Protocol(
        "toy",
        SIDE,
        SIDE,
        ("retrieval/CMC@1",),
        bootstrap=Bootstrap(replicates=100),
    ),
    "queries",
    ("gallery",),
)


class Stored:
    """Trained versions whose embeddings are given."""

    def __init__(self, directory: Path, embeddings: dict[tuple[str, str], Any]) -> None:
        self.directory = directory
        self.data_digests = {"train-old": "a", "train": "b"}
        self.asked = 0
        self._embeddings = embeddings

    def digests(self, parts: tuple[str, ...]) -> dict[str, str]:
        return {part: part for part in parts}

    def embeddings(self, training: Training, part: str) -> EmbeddingSet:
        self.asked += 1
        ids = [f"{part}{label}" for label in "xy"]
        return EmbeddingSet(
            ids, ["x", "y"], None, np.array(self._embeddings[training.name, part])
        )


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    # Old queries point at the other class, new ones at their own; the third component
    # of the new embeddings would turn every query to x if it were compared.
    return Stored(
        tmp_path,
        {
            ("old", "queries"): [[0.0, 1.0], [1.0, 0.0]],
            ("old", "gallery"): [[1.0, 0.0], [0.0, 1.0]],
            ("beta", "queries"): [[1.0, 0.0, 9.0], [0.0, 1.0, 9.0]],
            ("beta", "gallery"): [[1.0, 0.0, 9.0], [0.0, 1.0, -9.0]],
        },
    )


def test_new_queries_meet_the_old_gallery_in_its_components(stored: Stored) -> None:
    measured = RowMeasuring(stored, TEST, lambda line: None)(Row("beta", NEW, OLD))
    numbers = measured["retrieval/CMC@1"]
    assert (numbers.old_old, numbers.new_old, numbers.new_mixed) == (0.0, 1.0, 1.0)
    # All components against its own gallery: both queries find x.
    assert numbers.new_new == 0.5
    assert numbers.gain is None


def test_a_row_is_measured_once(stored: Stored) -> None:
    row = Row("beta", NEW, OLD)
    first = RowMeasuring(stored, TEST, lambda line: None)(row)
    asked = stored.asked
    assert RowMeasuring(stored, TEST, lambda line: None)(row) == first
    assert stored.asked == asked


def test_another_protocol_is_measured_anew(stored: Stored) -> None:
    row = Row("beta", NEW, OLD)
    RowMeasuring(stored, TEST, lambda line: None)(row)
    asked = stored.asked
    protocol = dataclasses.replace(TEST.protocol, distance="l2")
    other = dataclasses.replace(TEST, protocol=protocol)
    RowMeasuring(stored, other, lambda line: None)(row)
    assert stored.asked > asked


def test_a_gallery_of_templates_has_one_mean_an_identity(tmp_path: Path) -> None:
    # z has no mate. Picture by picture it meets x's second one at cosine 1, and no
    # mate lies above. Against the templates (2, 1) and (0, 1) it reaches 0.949: y's
    # mate lies above at 0.995, x's below at 0.934.
    class Pictures(Stored):
        def embeddings(self, training: Training, part: str) -> EmbeddingSet:
            ids = [f"{part}{number}" for number in range(3)]
            labels = ["x", "y", "z"] if part == "queries" else ["x", "x", "y"]
            rows = self._embeddings[training.name, part]
            return EmbeddingSet(ids, labels, None, np.array(rows))

    queries = [[1.0, 0.1], [0.1, 1.0], [1.0, 1.0]]
    gallery = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    versions = Pictures(
        tmp_path,
        {
            (name, part): rows
            for name in ("old", "beta")
            for part, rows in (("queries", queries), ("gallery", gallery))
        },
    )
    metric = "identification/TPIR@FPIR=0.1"
    pictures = dataclasses.replace(TEST.protocol, metrics=(metric,))
    test = Sides(
        pictures,
        "queries",
        ("gallery",),
        dataclasses.replace(
            pictures,
            name="templates",
            gallery=dataclasses.replace(SIDE, template="label"),
        ),
    )
    measured = RowMeasuring(versions, test, lambda line: None)(Row("beta", NEW, OLD))
    assert tuple(measured) == test.metrics
    assert measured[metric + OF_TEMPLATES].old_old == 0.5
    assert measured[metric].old_old == 0.0


def test_agreement_is_the_mean_cosine() -> None:
    # Cosines 1 and 0.6 by hand.
    old = EmbeddingSet(["1", "2"], ["a", "b"], None, np.array([[2.0, 0], [0, 1]]))
    new = EmbeddingSet(["1", "2"], ["a", "b"], None, np.array([[1.0, 0], [8, 6]]))
    assert agreement(old, new) == pytest.approx(0.8)


def test_half_of_the_identities_of_a_mixed_gallery_are_new() -> None:
    labels = [label for label in "abcdef" for _ in range(3)]
    ids = [str(number) for number in range(18)]
    old = EmbeddingSet(ids, labels, None, np.zeros((18, 2)))
    new = EmbeddingSet(ids, labels, None, np.ones((18, 2)))
    embeddings = mixed(old, new).embeddings.reshape(6, 6)
    assert sorted(embeddings.mean(axis=1)) == [0, 0, 0, 1, 1, 1]
