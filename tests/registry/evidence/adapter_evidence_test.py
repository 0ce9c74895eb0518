"""M(new, h(old)) against M(old, old), with real embeddings of toy pictures."""

import dataclasses
import json

import numpy as np
import pytest

from keras_bct.adapters import AffineMap, NewToOld, OldToNew
from registry import InvalidModelError, UsageError, measure_evidence
from registry.fingerprint import fingerprint
from tests.registry.toys import mean_average_precision


@pytest.fixture
def ridge(toy_adapter, pictures):
    """From `old` to `turned`, fitted to pictures that no protocol has."""
    return toy_adapter("ridge", pictures(3))


@pytest.fixture
def measure(toy_model, toy_protocol, ridge):
    """Measures `turned` against `old` through an adapter."""

    def measure(paragon=None, *, new="turned", adapter=ridge, path=toy_protocol):
        return measure_evidence(
            toy_model(new),
            toy_model("old"),
            path,
            None if paragon is None else toy_model(paragon),
            adapter_dir=adapter,
        )

    return measure


def test_only_the_gallery_of_the_new_version_goes_through_the_adapter(
    measure, ridge, pictures, toy_embeddings
):
    retrieval = measure().metrics[0]
    queries, gallery = pictures(1), pictures(2)
    stored = toy_embeddings("old", gallery)
    description = json.loads((ridge / "adapter.json").read_text())
    matrix, offset = (
        np.load(next(name for name in ridge.glob(f"*{kind}.npy")))
        for kind in ("matrix", "offset")
    )
    assert description["method"] == "Ridge"

    def expected(of_queries, of_gallery):
        return pytest.approx(
            mean_average_precision(
                toy_embeddings(of_queries, queries),
                queries.labels,
                of_gallery,
                gallery.labels,
            ),
            abs=1e-5,
        )

    assert retrieval.old_old == expected("old", stored)
    assert retrieval.new_old == expected("turned", stored @ matrix + offset)
    assert retrieval.new_new == expected("turned", toy_embeddings("turned", gallery))
    assert retrieval.low < retrieval.new_old - retrieval.old_old < retrieval.high


def test_what_no_training_made_compatible_is_so_through_the_adapter(
    measure, toy_model, toy_protocol, ridge
):
    direct = measure_evidence(toy_model("turned"), toy_model("old"), toy_protocol)
    through = measure()
    assert (direct.answer, through.answer) == ("no", "yes")
    assert direct.adapter_fingerprint is None
    assert through.adapter_fingerprint == fingerprint(ridge)
    assert through.data_digest == direct.data_digest


def test_a_freely_trained_version_is_its_own_paragon(measure, toy_model):
    evidence = measure("turned")
    (retrieval,) = evidence.metrics
    gain = (retrieval.new_old - retrieval.old_old) / (
        retrieval.new_new - retrieval.old_old
    )
    assert retrieval.gain == pytest.approx(gain)
    assert evidence.paragon_fingerprint == evidence.new_fingerprint


def test_another_paragon_is_measured_by_itself(measure):
    (by_itself,) = measure("independent", adapter=None).metrics
    (through,) = measure("independent").metrics
    base, top = through.old_old, (through.new_old - through.old_old) / through.gain
    assert by_itself.new_new != pytest.approx(base + top)
    (independent,) = measure(new="independent", adapter=None).metrics
    assert base + top == pytest.approx(independent.new_new)


def test_sizes_may_differ_across_the_adapter(
    toy_model, toy_protocol, toy_adapter, pictures
):
    adapter = toy_adapter("wider", pictures(3), size=24)
    evidence = measure_evidence(
        toy_model("turned", 24), toy_model("old"), toy_protocol, adapter_dir=adapter
    )
    assert (evidence.answer, evidence.first_components) == ("yes", 24)


def test_queries_of_another_size_than_the_adapter_gives_are_refused(
    measure, toy_model, toy_protocol, ridge
):
    with pytest.raises(InvalidModelError, match=r"24 components.*ridge 16"):
        measure_evidence(
            toy_model("turned", 24), toy_model("old"), toy_protocol, adapter_dir=ridge
        )


def test_another_version_s_vectors_are_refused(toy_model, toy_protocol, ridge):
    with pytest.raises(UsageError, match="take the adapter that was fitted for them"):
        measure_evidence(
            toy_model("turned"), toy_model("new"), toy_protocol, adapter_dir=ridge
        )


def save(kind, folder, toy_model, **changes):
    kind(
        map=AffineMap(np.eye(16), np.zeros(16)),
        old_fingerprint=fingerprint(toy_model("old")),
        new_fingerprint=fingerprint(toy_model("turned")),
        method="by hand",
        pairs=0,
        **changes,
    ).save(folder)
    return folder


def test_an_adapter_from_new_to_old_is_refused(measure, toy_model, tmp_path):
    backward = save(NewToOld, tmp_path / "backward", toy_model)
    with pytest.raises(UsageError, match=r"from old to new.*new-to-old"):
        measure(adapter=backward)


def test_a_version_is_not_measured_over_its_own_vectors_mapped(measure, monkeypatch):
    """It searches them as they are; and it is said before anything is embedded."""
    monkeypatch.setattr("registry.evidence.measuring._embed", None)
    with pytest.raises(UsageError, match="should be of two versions"):
        measure(new="old")


def test_a_map_that_does_nothing_is_measured_as_it_is(measure, toy_model, tmp_path):
    idle = save(OldToNew, tmp_path / "idle", toy_model)
    direct, through = measure(adapter=None).metrics[0], measure(adapter=idle).metrics[0]
    assert through.new_old == pytest.approx(direct.new_old)
    assert (through.low, through.high) == pytest.approx((direct.low, direct.high))


class TestInTheRegistry:
    """Registered, measured, promoted with its index, searched and taken back."""

    @pytest.fixture
    def toys(self, registry, toy_model, toy_protocol, pictures, ridge):
        registry.register("toys", toy_model("old"))
        registry.promote(
            "toys/1", "production", require_compatible=True, protocol=toy_protocol
        )
        registry.add_pictures("toys/all", pictures(2), registry.version("toys/1"))
        registry.publish_index("toys/all", "toys", "production")
        registry.register("toys", toy_model("turned"), predecessor="toys/1")
        registry.add_adapter(ridge)
        return registry

    def test_the_whole_way(self, toys, toy_protocol, pictures):
        evidence = toys.evaluate("toys/2", "toys/1", toy_protocol, through="toys:1")
        assert evidence.answer == "yes"
        index = toys.build_index("toys/all", through=["toys:1"])
        move = toys.promote(
            "toys/2", "production", require_compatible=True, index=index.name
        )
        assert move.evidence_ids == (evidence.id,)
        queries = pictures(1)
        found = toys.search("toys@production", queries.images, k=1)
        right = np.mean(
            [
                hits[0].label == label
                for hits, label in zip(found, queries.labels, strict=True)
            ]
        )
        assert right > 0.8
        assert found[0][0].adapter == toys.adapter("toys:1").fingerprint
        toys.rollback("toys@production")
        alias = toys.alias("toys@production")
        assert (alias.version.name, alias.index.name) == ("toys/1", "toys#1")
        assert toys.search("toys@production", queries.images[:1], k=1)
        assert not any(toys.verify().values())

    def test_vectors_of_the_gallery_go_through_it_too(
        self, toys, toy_protocol, measure
    ):
        stored = toy_protocol.with_name("stored.yaml")
        stored.write_text(
            toy_protocol.read_text().replace(
                "source: tfrecord, path: toy-gallery*.tfrecord",
                "source: gallery, path: toys/all",
            )
        )
        by_pictures = measure().metrics[0]
        evidence = toys.evaluate("toys/2", "toys/1", stored, through="toys:1")
        by_vectors = evidence.metrics[0]
        assert by_vectors.old_old == pytest.approx(by_pictures.old_old, abs=1e-6)
        assert by_vectors.new_old == pytest.approx(by_pictures.new_old, abs=1e-6)

    def test_new_pictures_stand_beside_mapped_rows(self, toys, toy_protocol, pictures):
        toys.evaluate("toys/2", "toys/1", toy_protocol, through="toys:1")
        index = toys.build_index("toys/all", through=["toys:1"])
        toys.promote("toys/2", "production", require_compatible=True, index=index.name)
        toys.add_pictures("toys/all", pictures(4), toys.version("toys/2"))
        grown = toys.publish_index("toys/all", "toys", "production")
        assert sorted(grown.fingerprints.values()) == [90, 90]
        assert grown.adapters == index.adapters
        hits = toys.search("toys@production", pictures(4).images[:3], k=1)
        # A picture that is in the gallery finds itself, whose vector is not mapped.
        assert [(h[0].id, h[0].adapter) for h in hits] == [
            (name, None) for name in pictures(4).ids[:3]
        ]

    def test_measured_before_registered_is_stored_after(
        self, registry, toy_model, ridge, measure
    ):
        """As a pipeline does it."""
        evidence = measure()
        registry.register("toys", toy_model("old"))
        registry.register("toys", toy_model("turned"))
        with pytest.raises(UsageError, match=r"`adapter_fingerprint`.*adapter add"):
            registry.add_evidence(evidence)
        registry.add_adapter(ridge)
        stored = registry.add_evidence(evidence)
        assert registry.evidence(stored.id) == stored
        assert json.loads(json.dumps(dataclasses.asdict(stored), default=str))[
            "adapter_fingerprint"
        ] == fingerprint(ridge)
