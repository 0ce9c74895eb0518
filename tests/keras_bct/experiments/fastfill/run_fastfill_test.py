"""An experiment from stored embeddings to its files, without image models."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from keras_bct import adapters
from keras_bct.alignment import AlignmentRecipe
from keras_bct.classifier import Classifier
from keras_bct.data.kanji_split import load_split
from keras_bct.evaluation import EmbeddingSet
from keras_bct.experiments.fastfill import run_fastfill as module
from keras_bct.experiments.fastfill.aligned_parts import Migration
from keras_bct.experiments.fastfill.claims import above, normalised_area, tau
from keras_bct.experiments.fastfill.map_methods import (
    Adapted,
    Aligned,
    Backward,
    Unmapped,
    description,
)
from keras_bct.experiments.fastfill.report import FastFillReport
from keras_bct.experiments.fastfill.rows import BackfillRow, FastFillTable, Setting

TEST = Setting("some classes", "seen")
CLASSES = load_split().train[:12]


class Versions:
    """Stands for trained models: embeddings made up, new ones better than old ones."""

    def __init__(self, directory):
        self.directory = directory
        self.data_digests = dict.fromkeys(("old", "new", "seen"), "1f")
        generator = np.random.default_rng(0)
        self._centres = generator.normal(size=(12, 8))
        self._turn = np.linalg.qr(generator.normal(size=(8, 8)))[0]

    def digests(self, parts):
        return dict.fromkeys(parts, "1f")

    def is_trained(self, training):
        return training.name != "missing"

    def version(self, training):
        folder = self.directory / training.name
        Classifier("cosface", self._centres, CLASSES, scale=8.0, margin=0.2).save(
            folder / "assets.extra"
        )
        return folder

    def embeddings(self, training, part):
        generator = np.random.default_rng(len(part))
        label = np.repeat(np.arange(12), 5 if part == "seen" else 30)
        content = self._centres[label] + 0.5 * generator.normal(size=(len(label), 8))
        if training.name == "old":
            content += 0.8 * generator.normal(size=content.shape)
            content = content @ self._turn
        ids = [str(number) for number in range(len(label))]
        typefaces = np.array(["brush", "pen", "print"])[np.arange(len(label)) % 3]
        return EmbeddingSet(
            ids,
            np.array(CLASSES)[label].tolist(),
            typefaces.tolist(),
            content.astype(np.float32),
        )


@dataclasses.dataclass(frozen=True)
class Model:
    name: str

    def digest(self, data):
        return self.name


RIDGE = Adapted(adapters.Ridge())
BACKWARD = Backward(adapters.LambdaOrthogonal(epochs=2))
FITTED = Aligned(
    AlignmentRecipe(hidden_size=8, epochs=6, warm_up_epochs=1, batch_size=64)
)


def rows(catalogue):
    migration = Migration(Model("old"), Model("new"), "new")
    gone = Migration(Model("old"), Model("missing"), "new")
    return (
        BackfillRow("none, random", migration, Unmapped()),
        BackfillRow("ridge, random", migration, RIDGE),
        BackfillRow("ridge, class mean", migration, RIDGE, "class mean"),
        BackfillRow("ridge, oracle", migration, RIDGE, "loss"),
        BackfillRow("ridge, linear oracle", migration, RIDGE, "linear"),
        BackfillRow("fitted, sigma", migration, FITTED, "sigma"),
        BackfillRow("backward, random", migration, BACKWARD),
        BackfillRow("gone, random", gone, Unmapped()),
    )


TABLE = FastFillTable(
    "trial",
    "A trial",
    "What it shows.",
    rows,
    settings=(TEST,),
    claims=(
        normalised_area(TEST, "ridge, random", -9.0),
        above(TEST, "none, random", "ridge, random"),
        tau(TEST, "ridge, oracle", 0.99),
    ),
    by_group=True,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    said = []
    module.run_fastfill(
        [TABLE],
        Versions(folder),
        folder / "results",
        seeds=1,
        train_missing=False,
        say=said.append,
    )
    return folder, said


def numbers(made):
    content = json.loads((made[0] / "results/trial.json").read_text("utf-8"))
    return content["seeds"]["0"]["some classes"]


@pytest.mark.slow
def test_a_map_is_better_than_none_and_the_end_is_the_new_model(made):
    found = numbers(made)
    starts = {
        title: values["metrics"]["retrieval/mAP"]["points"][0]
        for title, values in found.items()
    }
    assert starts["ridge, random"] > starts["none, random"] + 0.1
    ends = {
        values["metrics"]["retrieval/mAP"]["points"][-1]
        for title, values in found.items()
        if title != "backward, random"
    }
    assert len(ends) == 1


def test_backward_searches_the_old_gallery_with_mapped_queries(made):
    """And ends where queries and gallery are both new ones, mapped."""
    versions = Versions(made[0])
    old, new = (versions.embeddings(Model(name), "seen") for name in ("old", "new"))
    fit_to = [versions.embeddings(Model(name), "new") for name in ("old", "new")]
    adapter = BACKWARD.method.fit_backward(
        *(unit(items.embeddings) for items in fit_to),
        old_fingerprint="old",
        new_fingerprint="new",
        labels=fit_to[0].labels,
    )
    queries = unit(adapter.transform(unit(new.embeddings)))

    points = numbers(made)["backward, random"]["metrics"]["retrieval/mAP"]["points"]

    for point, gallery in ((points[0], unit(old.embeddings)), (points[-1], queries)):
        assert point == pytest.approx(
            mean_average_precision(queries @ gallery.T, old.labels), abs=1e-6
        )


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def mean_average_precision(similarities, labels):
    """Each query without itself."""
    scores = []
    for query, row in enumerate(similarities):
        others = np.arange(len(labels)) != query
        scores.append(
            average_precision_score((labels == labels[query])[others], row[others])
        )
    return np.mean(scores)


def test_the_oracles_order_is_better_than_a_random_one(made):
    area = {
        title: values["metrics"]["retrieval/mAP"]["area"]
        for title, values in numbers(made).items()
    }
    assert area["ridge, oracle"] > area["ridge, random"]
    assert numbers(made)["ridge, oracle"]["tau"] == pytest.approx(1.0)


def test_files_say_what_is_missing_and_what_was_expected(made):
    text = (made[0] / "results/trial.md").read_text("utf-8")
    assert "seed 0: missing gone, random" in text
    assert "normalised area of ridge, random at least -9.0 | 0 | yes" in text
    assert "area of none, random above ridge, random | 0 | **no**" in text
    assert (made[0] / "results/trial.png").stat().st_size > 10_000


def test_maps_are_fitted_once(made):
    folder, said = made
    assert sum("AlignmentRecipe" in line for line in said) == 1
    again = []
    module.run_fastfill(
        [TABLE],
        Versions(folder),
        folder / "again",
        seeds=1,
        train_missing=False,
        say=again.append,
    )
    assert again == []
    assert (folder / "again/trial.json").read_text() == (
        folder / "results/trial.json"
    ).read_text()


def test_every_field_is_part_of_the_digest_defaults_too():
    said = description(FITTED)
    assert (said["type"], said["prototypes"]) == ("Aligned", False)
    recipe = dataclasses.asdict(FITTED.recipe)
    assert said["recipe"] == {"type": "AlignmentRecipe", **recipe}


def test_a_claim_about_a_row_that_no_table_has_is_an_error(made):
    mistyped = dataclasses.replace(
        TABLE, claims=(normalised_area(TEST, "rigde, random", 0.5),)
    )
    with pytest.raises(KeyError, match="rigde"):
        module.run_fastfill(
            [mistyped],
            Versions(made[0]),
            made[0] / "mistyped",
            seeds=1,
            train_missing=False,
            say=lambda line: None,
        )


def test_a_map_has_one_colour_in_every_order():
    digests = {0: {"a; random": "1", "a; sigma": "1", "a, unit; random": "2"}}
    report = FastFillReport(TABLE, {}, tuple(digests[0]), 1, {}, digests)
    assert report.map_of("a; random") == report.map_of("a; sigma")
    assert report.map_of("a; random") != report.map_of("a, unit; random")


def test_unknown_order_is_refused():
    migration = Migration(Model("old"), Model("new"), "new")
    with pytest.raises(ValueError, match=r"`order` should be one of.*'best'"):
        BackfillRow("x", migration, RIDGE, "best")
