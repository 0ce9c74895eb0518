import dataclasses
import json
import shutil

import numpy as np
import pytest

from keras_bct.data import ImageRecords, write_records
from registry import (
    IntegrityError,
    InvalidModelError,
    RegistryError,
    UsageError,
    measure_evidence,
)
from registry.fingerprint import fingerprint
from tests.registry.toys import mean_average_precision


def test_each_side_is_embedded_by_its_own_version(
    toy_model, toy_protocol, pictures, toy_embeddings
):
    evidence = measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
    queries, gallery = pictures(1), pictures(2)

    def expected(of_queries, of_gallery):
        return pytest.approx(
            mean_average_precision(
                toy_embeddings(of_queries, queries),
                queries.labels,
                toy_embeddings(of_gallery, gallery),
                gallery.labels,
            ),
            abs=1e-6,
        )

    retrieval = evidence.metrics[0]
    assert retrieval.metric == "retrieval/mAP"
    assert retrieval.old_old == expected("old", "old")
    assert retrieval.new_old == expected("new", "old")
    assert retrieval.new_new == expected("new", "new")
    assert retrieval.low < retrieval.new_old - retrieval.old_old < retrieval.high
    assert retrieval.gain is None


def unlabelled(records, which):
    """The pictures, every so many of them without a label."""
    labels = np.where(np.arange(len(records)) % 4 == which, "", records.labels)
    return dataclasses.replace(records, labels=labels)


@pytest.mark.parametrize("vectors", [False, True])
def test_what_has_no_label_is_left_out_and_counted(
    registry, toy_model, toy_protocol, pictures, toy_embeddings, vectors
):
    queries, gallery = unlabelled(pictures(1), 1), unlabelled(pictures(2), 2)
    write_records(toy_protocol.with_name("toy-queries.tfrecord"), queries)
    write_records(toy_protocol.with_name("toy-gallery.tfrecord"), gallery)
    if vectors:
        registry.register("toy", toy_model("old"))
        registry.add_pictures("toys/all", gallery, registry.version("toy/1"))
        text = toy_protocol.read_text()
        old = "source: tfrecord, path: toy-gallery*.tfrecord"
        toy_protocol.write_text(text.replace(old, "source: gallery, path: toys/all"))

    evidence = measure_evidence(
        toy_model("new"),
        toy_model("old"),
        toy_protocol,
        galleries=registry.galleries_folder,
    )

    asked, stored = queries.labels != "", gallery.labels != ""
    for name, measured in (
        ("old", evidence.metrics[0].old_old),
        ("new", evidence.metrics[0].new_old),
    ):
        assert measured == pytest.approx(
            mean_average_precision(
                toy_embeddings(name, queries)[asked],
                queries.labels[asked],
                toy_embeddings("old", gallery)[stored],
                gallery.labels[stored],
            ),
            abs=1e-6,
        )
    assert evidence.counts["queries_without_label"] == (~asked).sum() > 0
    assert evidence.counts["gallery_without_label"] == (~stored).sum() > 0
    assert (
        f"{(~stored).sum()} items of the gallery have no label and were left out."
        in (evidence.warnings)
    )


def test_what_was_measured_on_what_is_kept(toy_model, toy_protocol):
    evidence = measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
    assert evidence.new_fingerprint == fingerprint(toy_model("new"))
    assert evidence.old_fingerprint == fingerprint(toy_model("old"))
    assert evidence.paragon_fingerprint is None
    assert evidence.protocol == str(toy_protocol)
    assert evidence.seed == 0
    assert (evidence.answer, evidence.id) == ("yes", None)


def test_an_independent_model_is_no_successor(toy_model, toy_protocol):
    evidence = measure_evidence(
        toy_model("independent"), toy_model("old"), toy_protocol
    )
    assert evidence.answer == "no"
    assert evidence.metrics[0].new_old < 0.3 < evidence.metrics[0].old_old


def test_a_version_measured_against_itself_says_how_good_it_is(
    registry, toy_model, toy_protocol
):
    """As one that has no predecessor; it is no proof of anything."""
    registry.register("toy", toy_model("old"))
    evidence = registry.evaluate("toy/1", "toy/1", toy_protocol)
    (retrieval,) = evidence.metrics
    assert retrieval.new_old == retrieval.old_old > 0
    assert evidence.answer != "yes"
    assert registry.edges() == []


def test_the_gain_is_against_the_named_paragon(toy_model, toy_protocol):
    evidence = measure_evidence(
        toy_model("new"), toy_model("old"), toy_protocol, toy_model("independent")
    )
    retrieval = evidence.metrics[0]
    paragon = measure_evidence(
        toy_model("independent"), toy_model("old"), toy_protocol
    ).metrics[0]
    gain = (retrieval.new_old - retrieval.old_old) / (
        paragon.new_new - retrieval.old_old
    )
    assert retrieval.gain == pytest.approx(gain)
    assert evidence.paragon_fingerprint == fingerprint(toy_model("independent"))


def test_measured_before_registered_promotes_after(registry, toy_model, toy_protocol):
    """As a pipeline does it."""
    registry.register("toy", toy_model("old"))
    registry.promote(
        "toy/1", "production", require_compatible=True, protocol=toy_protocol
    )
    evidence = measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
    as_text = json.dumps(dataclasses.asdict(evidence))
    assert json.loads(as_text)["metrics"][0]["metric"] == "retrieval/mAP"

    registry.register("toy", toy_model("new"), predecessor="toy/1")
    stored = registry.add_evidence(evidence)
    assert registry.evidence(stored.id) == stored
    move = registry.promote("toy/2", "production", require_compatible=True)
    assert move.evidence_ids == (stored.id,)


class TestStoredVectors:
    """The gallery side holds vectors of the registry, not pictures."""

    @pytest.fixture
    def stored(self, registry, toy_model, toy_protocol, pictures):
        registry.register("toy", toy_model("old"))
        registry.register("toy", toy_model("new"), predecessor="toy/1")
        added = registry.add_pictures(
            "toys/all", pictures(2), registry.version("toy/1")
        )
        assert added == 90
        path = toy_protocol.with_name("stored.yaml")
        pictures_side = "source: tfrecord, path: toy-gallery*.tfrecord"
        vectors_side = "source: gallery, path: toys/all"
        path.write_text(toy_protocol.read_text().replace(pictures_side, vectors_side))
        return path

    def test_give_the_same_numbers_as_pictures(
        self, registry, stored, toy_model, toy_protocol
    ):
        by_pictures = measure_evidence(
            toy_model("new"), toy_model("old"), toy_protocol
        ).metrics[0]
        by_vectors = registry.evaluate("toy/2", "toy/1", stored).metrics[0]
        assert by_vectors.old_old == pytest.approx(by_pictures.old_old, abs=1e-6)
        assert by_vectors.new_old == pytest.approx(by_pictures.new_old, abs=1e-6)
        assert by_vectors.new_new is None

    def test_stay_proven_while_the_gallery_grows(self, registry, stored, pictures):
        registry.promote(
            "toy/1", "production", require_compatible=True, protocol=stored
        )
        registry.evaluate("toy/2", "toy/1", stored)
        assert registry.promote("toy/2", "production", require_compatible=True)
        registry.add_pictures("toys/all", pictures(3), registry.version("toy/2"))
        assert registry.promote(
            "toy/2", "staging", require_compatible=True, protocol=stored
        )
        index = registry.publish_index("toys/all", "toy", "production")
        assert sorted(index.fingerprints.values()) == [90, 90]

    def test_cannot_be_embedded_by_a_paragon(self, registry, stored):
        with pytest.raises(UsageError, match="vectors only"):
            registry.evaluate("toy/2", "toy/1", stored, "toy/2")

    def test_of_another_version_are_no_gallery(self, registry, stored):
        with pytest.raises(UsageError, match="no vectors of fingerprint"):
            registry.evaluate("toy/1", "toy/2", stored)


def test_a_wider_successor_is_compared_by_its_first_components(toy_model, toy_protocol):
    with pytest.raises(InvalidModelError, match="first_components: 16"):
        measure_evidence(toy_model("new", 32), toy_model("old"), toy_protocol)
    toy_protocol.write_text(toy_protocol.read_text() + "first_components: 16\n")
    evidence = measure_evidence(toy_model("new", 32), toy_model("old"), toy_protocol)
    assert evidence.first_components == 16
    # The first 16 columns of the wide map are those of the narrow one.
    narrow = measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
    assert evidence.metrics[0].new_old == pytest.approx(narrow.metrics[0].new_old)


def test_more_first_components_than_there_are_is_refused(toy_model, toy_protocol):
    toy_protocol.write_text(toy_protocol.read_text() + "first_components: 20\n")
    with pytest.raises(InvalidModelError, match="first 20 components"):
        measure_evidence(toy_model("new", 32), toy_model("old"), toy_protocol)


class TestPatterns:
    """What is measured is what is digested."""

    def test_hidden_files_are_neither(self, toy_model, toy_protocol, pictures):
        toy_protocol.write_text(
            toy_protocol.read_text().replace(
                "toy-gallery*.tfrecord", "'*gallery*.tfrecord'"
            )
        )
        before = measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
        hidden = toy_protocol.with_name(".gallery-more.tfrecord")
        write_records(hidden, pictures(5, noise=200.0))
        after = measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
        assert after.data_digest == before.data_digest
        assert after.metrics == before.metrics

    def test_the_folder_is_no_pattern(self, toy_model, toy_protocol, tmp_path):
        folder = tmp_path / "a[1]*?"
        folder.mkdir()
        for path in tmp_path.glob("toy*"):
            shutil.copy(path, folder)
        moved = measure_evidence(
            toy_model("new"), toy_model("old"), folder / toy_protocol.name
        )
        there = measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
        assert moved.data_digest == there.data_digest
        assert moved.metrics == there.metrics


class TestWhatChangesMeanwhile:
    """Measuring takes minutes; evidence is about what was read."""

    @pytest.fixture
    def meanwhile(self, monkeypatch):
        """Does something once the models have embedded."""
        from keras_bct import evaluation

        def meanwhile(act):
            compare = evaluation.compare

            def slow(*args, **kwargs):
                act()
                return compare(*args, **kwargs)

            monkeypatch.setattr(evaluation, "compare", slow)

        return meanwhile

    @pytest.mark.parametrize("side", ["queries", "gallery"])
    def test_pictures(self, toy_model, toy_protocol, pictures, meanwhile, side):
        path = toy_protocol.with_name(f"toy-{side}.tfrecord")
        meanwhile(lambda: write_records(path, pictures(5)))
        with pytest.raises(RegistryError, match="changed while they were measured"):
            measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)

    def test_stored_vectors(
        self, registry, toy_model, toy_protocol, pictures, meanwhile
    ):
        old = registry.register("toy", toy_model("old"))
        registry.register("toy", toy_model("new"))
        registry.add_pictures("toys/all", pictures(2), old)
        toy_protocol.write_text(
            toy_protocol.read_text().replace(
                "source: tfrecord, path: toy-gallery*.tfrecord",
                "source: gallery, path: toys/all",
            )
        )
        meanwhile(lambda: registry.add_pictures("toys/all", pictures(5), old))
        with pytest.raises(RegistryError, match="changed while they were measured"):
            registry.evaluate("toy/2", "toy/1", toy_protocol)
        assert registry.edges() == []

    @pytest.mark.parametrize("role", ["new", "old", "paragon"])
    def test_a_model(self, toy_model, toy_protocol, tmp_path, meanwhile, role):
        folders = {"new": "new", "old": "old", "paragon": "independent"}
        for name, kind in folders.items():
            shutil.copytree(toy_model(kind), tmp_path / name)
        meanwhile(lambda: (tmp_path / role / "assets.extra" / "more").touch())
        with pytest.raises(IntegrityError, match=f"{role} changed while it was"):
            measure_evidence(
                tmp_path / "new", tmp_path / "old", toy_protocol, tmp_path / "paragon"
            )


class TestBadInput:
    def test_bytes_that_are_no_picture_are_named_by_id(
        self, toy_model, toy_protocol, pictures
    ):
        good = pictures(1)
        images = [*good.images]
        images[5] = b"not a picture"
        write_records(
            toy_protocol.with_name("toy-queries.tfrecord"),
            ImageRecords(good.ids, images, good.labels, good.cameras),
        )
        with pytest.raises(UsageError, match="1-1-2"):
            measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)

    def test_embeddings_that_are_not_finite(self, toy_model, toy_protocol):
        with pytest.raises(UsageError, match="finite"):
            measure_evidence(toy_model("broken"), toy_model("old"), toy_protocol)

    def test_a_side_without_pictures(self, toy_model, toy_protocol):
        toy_protocol.with_name("toy-queries.tfrecord").write_bytes(b"")
        with pytest.raises(UsageError, match="`queries`"):
            measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)

    def test_a_side_without_files(self, toy_model, toy_protocol):
        toy_protocol.with_name("toy-gallery.tfrecord").unlink()
        with pytest.raises(UsageError, match="No file matches"):
            measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)

    def test_an_unknown_metric(self, toy_model, toy_protocol):
        toy_protocol.write_text(toy_protocol.read_text().replace("mAP", "mAAP"))
        with pytest.raises(UsageError, match="mAAP"):
            measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)

    def test_an_unknown_key(self, toy_model, toy_protocol):
        toy_protocol.write_text(toy_protocol.read_text() + "gates: {}\n")
        with pytest.raises(UsageError, match="gates"):
            measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)

    def test_a_protocol_that_is_not_there(self, toy_model, tmp_path):
        with pytest.raises(UsageError, match=r"nowhere\.yaml"):
            measure_evidence(
                toy_model("new"), toy_model("old"), tmp_path / "nowhere.yaml"
            )

    def test_a_folder_that_is_no_model(self, toy_model, toy_protocol, tmp_path):
        with pytest.raises(InvalidModelError, match=r"saved_model\.pb"):
            measure_evidence(tmp_path, toy_model("old"), toy_protocol)

    def test_queries_that_are_vectors(self, toy_model, toy_protocol):
        toy_protocol.write_text(
            toy_protocol.read_text().replace(
                "source: tfrecord, path: toy-queries", "source: gallery, path: toy"
            )
        )
        with pytest.raises(
            UsageError, match=r"`queries` of the protocol .* should be pictures"
        ):
            measure_evidence(toy_model("new"), toy_model("old"), toy_protocol)
