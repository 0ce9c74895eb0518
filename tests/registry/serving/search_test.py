import json

import numpy as np
import pytest

from keras_bct.data import ImageRecords
from registry import GateRefusedError, IntegrityError, InvalidGalleryError, UsageError
from registry.cli.main import build_parser, main


@pytest.fixture
def served(registry, toy_model, toy_protocol, pictures):
    """`production` is toy/2 with an index of toy/1's vectors."""
    registry.register("toy", toy_model("old"))
    registry.promote(
        "toy/1", "production", require_compatible=True, protocol=toy_protocol
    )
    registry.add_pictures("toys", pictures(2), registry.version("toy/1"))
    registry.publish_index("toys", "toy", "production")
    registry.register("toy", toy_model("new"), predecessor="toy/1")
    registry.evaluate("toy/2", "toy/1", toy_protocol)
    registry.promote("toy/2", "production", require_compatible=True)
    return registry


def test_new_queries_find_old_vectors(served, pictures, toy_embeddings):
    queries, gallery = pictures(1), pictures(2)
    found = served.search("toy@production", queries.images[:20], k=3)

    new, old = toy_embeddings("new", queries), toy_embeddings("old", gallery)
    new /= np.linalg.norm(new, axis=1, keepdims=True)
    old /= np.linalg.norm(old, axis=1, keepdims=True)
    nearest = np.argsort(-(new[:20] @ old.T), axis=1)[:, :3]
    assert [[hit.id for hit in hits] for hits in found] == gallery.ids[nearest].tolist()
    old_print = served.version("toy/1").fingerprint
    assert {hit.fingerprint for hits in found for hit in hits} == {old_print}


def test_more_than_there_are_gives_all(served, pictures):
    (hits,) = served.search("toy@production", pictures(1).images[:1], k=1000)
    assert len(hits) == 90


def test_equal_size_is_not_enough(served, toy_model, pictures):
    served.register("toy", toy_model("independent"))
    served.promote("toy/3", "production", force=True, reason="a mistake")
    with pytest.raises(GateRefusedError) as refused:
        served.search("toy@production", pictures(1).images[:1])
    (reason,) = refused.value.reasons
    assert "90 vectors of toy/1" in reason
    assert "no compatibility edge toy/3 -> toy/1" in reason


def test_an_edge_the_wrong_way_is_not_enough(served, toy_protocol, pictures):
    """toy/2 may search toy/1's vectors; that says nothing of the reverse."""
    served.add_pictures("newer", pictures(3), served.version("toy/2"))
    with pytest.raises(GateRefusedError, match="toy/1 -> toy/2"):
        served.promote("toy/1", "other", force=True, reason="a test")
        served.publish_index("newer", "toy", "other")


def test_bytes_that_are_no_picture_are_named(served):
    with pytest.raises(UsageError, match=r"query\.png"):
        served.search("toy@production", [b"no picture"], ids=["query.png"])


def test_no_pictures_is_said_so(served):
    with pytest.raises(UsageError, match="no pictures"):
        served.search("toy@production", [])


def test_a_tampered_index_is_not_searched(served, pictures, tmp_path):
    index = served.alias("toy@production").index
    with open(f"{index.location}/rows.arrow", "r+b") as file:
        file.seek(300)
        file.write(b"\xff")
    with pytest.raises(IntegrityError, match=r"rows\.arrow"):
        served.search("toy@production", pictures(1).images[:1])


def test_a_tampered_model_is_not_loaded(served, pictures):
    with open(f"{served.version('toy/2').location}/saved_model.pb", "ab") as file:
        file.write(b"\0")
    with pytest.raises(IntegrityError, match=r"saved_model\.pb"):
        served.search("toy@production", pictures(1).images[:1])


class TestAddingPictures:
    def test_what_is_held_is_not_embedded_again(self, served, pictures):
        old, extra = pictures(2), pictures(3)
        both = ImageRecords(
            np.concatenate([old.ids, extra.ids]),
            old.images + extra.images,
            np.concatenate([old.labels, extra.labels]),
            np.concatenate([old.cameras, extra.cameras]),
        )
        version = served.version("toy/2")
        assert served.add_pictures("toys", both, version) == 90
        assert served.add_pictures("toys", both, version) == 0
        assert served.gallery("toys").fingerprints == {
            served.version("toy/1").fingerprint: 90,
            version.fingerprint: 90,
        }

    def test_a_version_that_is_too_narrow_is_refused_before_it_embeds(
        self, served, toy_model, pictures, monkeypatch
    ):
        from keras_bct import models

        narrow = served.register("toy", toy_model("new", 8))
        monkeypatch.delattr(models, "load_embedder")
        with pytest.raises(InvalidGalleryError, match=r"16 components.*gives 8"):
            served.add_pictures("toys", pictures(3), narrow)

    def test_an_id_twice_is_refused_before_anything_is_embedded(
        self, served, pictures, monkeypatch
    ):
        from keras_bct import models

        monkeypatch.delattr(models, "load_embedder")
        twice = pictures(3)
        twice.ids[1] = twice.ids[0]
        with pytest.raises(InvalidGalleryError, match="2 times"):
            served.add_pictures("toys", twice, served.version("toy/1"))

    def test_a_picture_that_cannot_be_read_makes_no_gallery(self, served, pictures):
        bad = pictures(3)
        bad.images[4] = b"not a picture"
        with pytest.raises(UsageError, match="3-1-1"):
            served.add_pictures("another", bad, served.version("toy/1"))
        assert served.galleries() == ["toys"]

    def test_a_picture_that_cannot_be_read_changes_nothing(self, served, pictures):
        extra = pictures(3)
        extra.images[7] = b"no picture"
        before = served.gallery("toys")
        with pytest.raises(UsageError, match="3-2-1"):
            served.add_pictures("toys", extra, served.version("toy/2"))
        assert served.gallery("toys") == before

    def test_a_wider_version_stores_what_is_compared(self, served, toy_model, pictures):
        wide = served.register("toy", toy_model("new", 32))
        assert served.add_pictures("toys", pictures(3), wide) == 90
        assert served.gallery("toys").read(wide.fingerprint).embeddings.shape == (
            90,
            16,
        )


def test_the_command_prints_what_it_found(served, pictures, tmp_path, capsys):
    query = tmp_path / "query.png"
    query.write_bytes(pictures(1).images[4])
    (hits,) = served.search("toy@production", [query.read_bytes()], k=2)

    def printed(*options):
        argv = ["--root", served.root.url, "search", "toy@production", "-k", "2"]
        capsys.readouterr()
        arguments = build_parser().parse_args([*argv, "--image", str(query), *options])
        assert main(arguments) == 0
        return capsys.readouterr().out

    lines = printed().splitlines()
    assert lines[0] == str(query)
    assert lines[1].split() == ["id", "label", "camera", "score", "embedded", "by"]
    assert [line.split() for line in lines[2:]] == [
        [hit.id, hit.label, hit.camera, f"{hit.score:.4f}", "toy/1"] for hit in hits
    ]
    (found,) = json.loads(printed("--json"))
    assert found["image"] == str(query)
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in hits]
