"""The aligned form's components, each called by itself, on toy models."""

import json
import shutil

import numpy as np
import pytest

from keras_bct.adapters import LambdaOrthogonal, load_adapter
from keras_bct.data import write_records
from registry import InvalidGalleryError, Registry, UsageError
from registry.fingerprint import fingerprint
from tests.registry.toys import toy_pictures, write_toy_protocol
from tests.tfx_pipeline.aligned_run import Run
from tfx_pipeline.artifacts import adapter_folder


@pytest.fixture(scope="module")
def template(tmp_path_factory, toy_model, empty_database):
    """A registry whose toy/1 is in production with its own vectors, and a protocol."""
    root = tmp_path_factory.mktemp("template")
    protocol = write_toy_protocol(root)
    (root / "registry").mkdir()
    shutil.copy(empty_database, root / "registry")
    registry = Registry(root / "registry")
    registry.register("toy", toy_model("old"))
    registry.promote("toy/1", "production", require_compatible=True, protocol=protocol)
    registry.add_pictures("toys", toy_pictures(2), registry.version("toy/1"))
    registry.publish_index("toys", "toy", "production")
    registry.database.close()
    return root / "registry", protocol


@pytest.fixture(scope="module")
def pushed_template(template, toy_model, tmp_path_factory):
    """The same after a run in which `turned` followed; nobody changes it."""
    root = tmp_path_factory.mktemp("pushed")
    shutil.copytree(template[0], root / "registry")
    run = Run(
        root / "registry", template[1], toy_model("turned"), "toy/1", root / "run", True
    )
    run.align(toy_pictures(3))
    assert run.evaluate() == "yes"
    assert run.push()["pushed"] == 1
    return root / "registry", run


@pytest.fixture
def served(template, tmp_path):
    shutil.copytree(template[0], tmp_path / "registry")
    registry = Registry(tmp_path / "registry")
    yield registry
    registry.database.close()


@pytest.fixture
def start(served, template, tmp_path):
    """Begins a run on `served`."""
    runs = []

    def start(trained, predecessor="", aligned=True):
        folder = tmp_path / f"run-{len(runs)}"
        runs.append(
            Run(served.root.url, template[1], trained, predecessor, folder, aligned)
        )
        return runs[-1]

    return start


@pytest.fixture
def run(start, toy_model):
    """A model that was trained freely follows toy/1."""
    return start(toy_model("turned"), "toy/1")


@pytest.fixture
def done(pushed_template):
    """The run that promoted `turned`, and its registry, to look at."""
    registry = Registry(pushed_template[0])
    yield registry, pushed_template[1]
    registry.database.close()


@pytest.fixture
def promoted(pushed_template, template, tmp_path):
    """A copy of it to go on with, and how a run on it begins."""
    shutil.copytree(pushed_template[0], tmp_path / "registry")
    registry = Registry(tmp_path / "registry")

    def start(trained, predecessor, aligned=True):
        return Run(
            registry.root.url,
            template[1],
            trained,
            predecessor,
            tmp_path / "next",
            aligned,
        )

    yield registry, pushed_template[1].on(registry), start
    registry.database.close()


def test_the_first_run_has_nothing_to_map(
    registry, toy_model, toy_protocol, pictures, tmp_path
):
    first = Run(
        registry.root.url, toy_protocol, toy_model("old"), "", tmp_path / "run", True
    )
    first.align(pictures(3))
    assert first.artifacts["adapter"].pairs == 0
    assert (first.evaluate(), first.push()["pushed"]) == ("bootstrap", 1)
    assert registry.adapters() == []
    assert registry.alias("toy@production").version.name == "toy/1"


class TestAligner:
    def test_fits_the_named_method_to_embeddings_of_the_training_pictures(
        self, run, pictures, toy_model, toy_embeddings, tmp_path
    ):
        run.align(pictures(3), method="Procrustes")
        adapter = load_adapter(adapter_folder(run.artifacts["adapter"].uri, 1))
        assert (adapter.method, adapter.pairs) == ("Procrustes", 90)
        assert adapter.old_fingerprint == fingerprint(toy_model("old"))
        assert adapter.new_fingerprint == fingerprint(toy_model("turned"))
        old, new = (toy_embeddings(name, pictures(3)) for name in ("old", "turned"))
        # Schönemann's solution, here by SciPy.
        from scipy.linalg import orthogonal_procrustes

        turn, _ = orthogonal_procrustes(old - old.mean(0), new - new.mean(0))
        expected = (old - old.mean(0)) @ turn + new.mean(0)
        np.testing.assert_allclose(
            adapter.transform(old.astype(np.float32)), expected, atol=1e-3
        )

    def test_gives_labels_to_the_method_that_takes_them(
        self, run, pictures, toy_embeddings
    ):
        settings = {"epochs": 2, "contrastive_weight": 0.5}
        run.align(pictures(3), method="LambdaOrthogonal", settings=json.dumps(settings))
        adapter = load_adapter(adapter_folder(run.artifacts["adapter"].uri, 1))
        old, new = (toy_embeddings(name, pictures(3)) for name in ("old", "turned"))
        names = {"old_fingerprint": "old", "new_fingerprint": "new"}
        with_labels, without = (
            LambdaOrthogonal(**settings).fit(old, new, labels=labels, **names)
            for labels in (pictures(3).labels, None)
        )
        assert (adapter.method, adapter.pairs) == ("LambdaOrthogonal", 90)
        mapped = adapter.transform(old)
        np.testing.assert_allclose(mapped, with_labels.transform(old), atol=1e-3)
        assert np.abs(mapped - without.transform(old)).max() > 1e-2

    def test_says_on_its_artifact_what_was_fitted(self, run, pictures, toy_model):
        run.align(pictures(3))
        artifact = run.artifacts["adapter"]
        assert (artifact.method, artifact.pairs) == ("Ridge", 90)
        assert artifact.old_fingerprint == fingerprint(toy_model("old"))
        assert artifact.new_fingerprint == fingerprint(toy_model("turned"))

    @pytest.mark.parametrize("own_size", [16, 8])
    def test_takes_stored_embeddings_and_embeds_only_the_rest(
        self, run, served, pictures, toy_model, capsys, own_size
    ):
        """The stored ones are told by being wrong, as no model makes them.

        Where models of several sizes follow each other, a gallery has rows of each.
        """
        records = pictures(3)
        served.create_gallery("training", "toy", own_size)
        far = np.random.default_rng(0).normal(size=(60, 16)) * 1e6
        served.gallery("training").append(
            [str(name) for name in records.ids[:60]],
            far.astype(np.float32),
            fingerprint(toy_model("old")),
            embedding_size=16,
            checked=True,
        )
        run.align(records, embeddings="training")
        assert "90 pairs, of which 60 were stored" in capsys.readouterr().out
        adapter = load_adapter(adapter_folder(run.artifacts["adapter"].uri, 1))
        # From a million times too far the map leads back.
        assert np.abs(adapter.map.matrix).max() < 1e-3

    def test_refuses_unchecked_rows_that_are_not_what_the_version_makes(
        self, run, served, pictures, toy_model
    ):
        records = pictures(3)
        served.create_gallery("training", "toy", 16)
        served.gallery("training").append(
            [str(name) for name in records.ids[:60]],
            np.random.default_rng(0).normal(size=(60, 16)),
            fingerprint(toy_model("old")),
        )
        with pytest.raises(InvalidGalleryError, match="what toy/1 makes"):
            run.align(records, embeddings="training")

    def test_embeds_all_where_only_other_versions_have_rows(
        self, run, served, pictures, capsys
    ):
        records = pictures(3)
        served.create_gallery("training", "toy", 8)
        served.gallery("training").append(
            [str(name) for name in records.ids], np.ones((90, 8)), "b" * 64
        )
        run.align(records, embeddings="training")
        assert "90 pairs, of which 0 were stored" in capsys.readouterr().out

    def test_refuses_stored_embeddings_of_another_size_than_the_version_makes(
        self, run, served, pictures, toy_model
    ):
        served.create_gallery("narrow", "toy", 8)
        served.gallery("narrow").append(
            ["x"], np.ones((1, 8)), fingerprint(toy_model("old"))
        )
        with pytest.raises(ValueError, match=r"`aligner\.embeddings`.*16.*8"):
            run.align(pictures(3), embeddings="narrow")

    def test_refuses_a_method_that_is_none(self, run, pictures):
        with pytest.raises(ValueError, match=r"`aligner\.method`.*'Magic'"):
            run.align(pictures(3), method="Magic")

    def test_refuses_settings_that_the_method_does_not_take(self, run, pictures):
        with pytest.raises(ValueError, match=r"`aligner\.settings`.*LowRank"):
            run.align(pictures(3), method="LowRank", settings='{"depth": 3}')

    @pytest.mark.slow
    def test_fits_the_alignment_model_too(self, run, pictures):
        settings = {
            "epochs": 2,
            "warm_up_epochs": 0,
            "hidden_size": 8,
            "discriminative_weight": 0.0,
        }
        run.align(pictures(3), method="FastFill", settings=json.dumps(settings))
        adapter = load_adapter(adapter_folder(run.artifacts["adapter"].uri, 1))
        assert (adapter.method, adapter.has_variance) == ("FastFill", True)
        assert (adapter.input_size, adapter.output_size) == (16, 16)


class TestEvaluator:
    def test_measures_the_gallery_through_the_adapter(self, done):
        _, run = done
        numbers = json.loads((run.folder / "evidence/evidence.json").read_text())
        folder = adapter_folder(run.artifacts["adapter"].uri, 1)
        assert numbers["adapter_fingerprint"] == fingerprint(folder)
        # The model was trained freely: it is its own paragon.
        assert 0 < numbers["metrics"][0]["gain"] < 1
        blessing = run.artifacts["blessing"]
        reasons = blessing.get_string_custom_property("reasons")
        assert "against toy/1 through an adapter: " in reasons

    def test_without_the_adapter_it_is_not_compatible(self, start, toy_model):
        assert start(toy_model("turned"), "toy/1", aligned=False).evaluate("") == "no"


class TestPusher:
    def test_registers_promotes_and_serves_what_is_blessed(self, done, toy_model):
        registry, _ = done
        alias = registry.alias("toy@production")
        assert (alias.version.name, alias.index.number) == ("toy/2", 2)
        (adapter,) = registry.adapters()
        old = fingerprint(toy_model("old"))
        assert alias.index.adapters == {old: adapter.fingerprint}
        (edge,) = registry.edges()
        assert (edge.kind, edge.old_fingerprint) == ("through adapter", old)
        # One row of history: never the one without the other.
        move = registry.history("toy@production")[-1]
        assert (move.action, move.to_version, move.to_index) == (
            "promote",
            "toy/2",
            "toy#2",
        )

    def test_registers_what_the_gate_refused_and_changes_nothing_else(
        self, run, served, pictures
    ):
        before = served.alias("toy@production")
        # Too few components to tell the classes apart.
        run.align(pictures(3), method="LowRank", settings='{"rank": 1}')
        assert run.evaluate() != "yes"
        pushed = run.push()
        assert (pushed["pushed"], pushed["pushed_version"]) == (0, "toy/2")
        assert "through an adapter" in pushed["reasons"]
        assert [str(adapter) for adapter in served.adapters()] == ["toy:1"]
        assert served.edges() == []
        assert served.alias("toy@production") == before
        assert len(served.indices()) == 1

    def test_serves_the_first_components_that_the_protocol_says(
        self, served, toy_model, pictures, template, tmp_path
    ):
        protocol = template[1].with_name("first.yaml")
        protocol.write_text(template[1].read_text() + "first_components: 12\n")
        names = served.root.url, protocol
        run = Run(*names, toy_model("turned"), "toy/1", tmp_path / "run", True)
        run.align(pictures(3))
        assert run.evaluate() == "yes"
        assert run.push()["pushed"] == 1
        mapped = served.alias("toy@production").index
        assert (mapped.first_components, len(mapped.adapters)) == (12, 1)
        assert run.index()["index"] == str(mapped)
        # In the direct form too, and what is mapped stays so.
        protocol.write_text(template[1].read_text() + "first_components: 8\n")
        run = Run(*names, toy_model("new"), "toy/2", tmp_path / "next", False)
        run.evaluate("")
        run.artifacts["blessing"].set_int_custom_property("blessed", 1)
        run.push()
        narrower = served.indices()[-1]
        assert (narrower.first_components, narrower.adapters) == (8, mapped.adapters)

    def test_can_be_repeated(self, promoted):
        registry, run, _ = promoted
        assert run.push()["pushed_version"] == "toy/2"
        assert len(registry.adapters()) == 1
        assert registry.resolve("toy@production").name == "toy/2"

    def test_refuses_an_adapter_that_was_changed_on_the_way(self, run, pictures):
        run.align(pictures(3))
        run.evaluate()
        folder = adapter_folder(run.artifacts["adapter"].uri, 1)
        matrix = next(folder.glob("*matrix.npy"))
        matrix.write_bytes(matrix.read_bytes()[:-4] + b"abcd")
        with pytest.raises(UsageError, match=r"matrix\.npy"):
            run.push()


class TestIndexer:
    def test_leaves_what_was_published_with_the_promotion(self, promoted):
        registry, run, _ = promoted
        published = run.index()
        assert published["index"] == "toy#2"
        assert list(published["adapters"].values()) == [
            registry.adapter("toy:1").fingerprint
        ]

    def test_publishes_new_pictures_beside_mapped_rows(
        self, promoted, pictures, tmp_path
    ):
        registry, run, _ = promoted
        write_records(tmp_path / "more.tfrecord", pictures(4))
        published = run.index(str(tmp_path / "more.tfrecord"))
        assert published["index"] == "toy#3"
        made_by = {registry.version(f"toy/{n}").fingerprint: 90 for n in (1, 2)}
        assert published["fingerprints"] == made_by
        assert len(published["adapters"]) == 1


def test_a_compatible_successor_follows_over_mapped_rows(promoted, toy_model, tmp_path):
    """The direct form after the aligned one: measured on what is served."""
    registry, _, start = promoted
    variant = tmp_path / "variant"
    shutil.copytree(toy_model("turned"), variant)
    (variant / "assets.extra" / "note.txt").write_text("other files")
    third = start(variant, "toy/2", aligned=False)
    third.evaluate("")
    reasons = third.artifacts["blessing"].get_string_custom_property("reasons")
    assert "against toy/1 through an adapter: " in reasons
    third.push()
    ways = {
        (registry.version_with(e.old_fingerprint).name, e.adapter_fingerprint is None)
        for e in registry.evidence_of(registry.version("toy/3"))
    }
    assert ways == {("toy/1", False), ("toy/2", True)}


def test_every_version_of_the_gallery_gets_a_map_of_its_own(
    promoted, pictures, toy_model
):
    registry, _, start = promoted
    registry.add_pictures("toys", pictures(4), registry.version("toy/2"))
    third = start(toy_model("independent"), "toy/2")
    third.align(pictures(3))
    folders = [adapter_folder(third.artifacts["adapter"].uri, n) for n in (1, 2, 3)]
    assert [folder.exists() for folder in folders] == [True, True, False]
    assert [load_adapter(folder).old_fingerprint for folder in folders[:2]] == [
        registry.version("toy/2").fingerprint,
        registry.version("toy/1").fingerprint,
    ]
