"""Whose vectors are they? An import is compared, or known as unchecked."""

import json

import numpy as np
import pytest

from registry import GateRefusedError, InvalidGalleryError, UsageError
from registry.cli.main import build_parser, main


@pytest.fixture
def toys(registry, toy_model):
    registry.register("toys", toy_model("old"))
    registry.register("toys", toy_model("new"))
    return registry


@pytest.fixture
def stored(tmp_path, toy_embeddings, pictures):
    """A file with what a toy model makes of the gallery's pictures."""

    def write(name):
        records = pictures(2)
        path = tmp_path / f"{name}.npz"
        rows = toy_embeddings(name, records).astype(np.float32)
        np.savez(
            path,
            id=records.ids,
            label=records.labels,
            camera=records.cameras,
            embedding=rows,
        )
        return path

    return write


@pytest.fixture
def of_gallery(toy_protocol):
    """The toy protocol with stored vectors for its gallery."""
    text = toy_protocol.read_text().replace(
        "{source: tfrecord, path: toy-gallery*.tfrecord, camera: camera}",
        "{source: gallery, path: toys/all, camera: camera}",
    )
    toy_protocol.write_text(text)
    return toy_protocol


def test_vectors_that_the_version_makes_are_taken(toys, stored, pictures):
    one = toys.version("toys/1")
    assert toys.import_rows("toys/all", stored("old"), one, pictures=pictures(2)) == 90
    assert toys.gallery("toys/all").unchecked == {}
    assert toys.unchecked("toys/all") == []


def test_vectors_of_another_model_are_refused(toys, stored, pictures):
    with pytest.raises(InvalidGalleryError, match="what toys/1 makes"):
        toys.import_rows(
            "toys/all",
            stored("independent"),
            toys.version("toys/1"),
            pictures=pictures(2),
        )
    assert toys.galleries() == []


def test_pictures_of_other_rows_are_refused(toys, stored, pictures):
    with pytest.raises(UsageError, match=r"'2-0-0'.*'1-0-0'"):
        toys.import_rows(
            "toys/all", stored("old"), toys.version("toys/1"), pictures=pictures(1)
        )


@pytest.mark.parametrize("both", [True, False])
def test_it_has_to_be_said_how_they_are_known(toys, stored, pictures, both):
    with pytest.raises(UsageError, match=r"--pictures.*--unchecked"):
        toys.import_rows(
            "toys/all",
            stored("old"),
            toys.version("toys/1"),
            pictures=pictures(2) if both else None,
            unchecked=both,
        )
    assert toys.galleries() == []


def test_false_proof_is_refused_and_says_why(toys, stored, of_gallery):
    """Vectors of `new` under the name of an unrelated `old` once proved anything."""
    one = toys.version("toys/1")
    toys.import_rows("toys/all", stored("independent"), one, unchecked=True)
    evidence = toys.evaluate("toys/2", "toys/1", of_gallery)
    assert evidence.answer == "no"
    assert "no better than chance" in evidence.reasons[0]
    assert "were not made by the model that embeds the old queries" in str(evidence)
    assert "90 of 90 vectors of the gallery 'toys/all' are unchecked" in str(
        evidence.warnings
    )
    toys.promote("toys/1", "production", require_compatible=True, protocol=of_gallery)
    with pytest.raises(GateRefusedError, match="no better than chance"):
        toys.promote("toys/2", "production", require_compatible=True)


def test_unchecked_vectors_are_shown_with_what_they_prove(toys, stored, of_gallery):
    toys.import_rows("toys/all", stored("old"), toys.version("toys/1"), unchecked=True)
    evidence = toys.evaluate("toys/2", "toys/1", of_gallery)
    assert evidence.answer == "yes"
    kept = toys.evidence(evidence.id)
    assert kept.warnings == evidence.warnings
    assert "unchecked" in json.loads(kept.comparison)["warnings"][0]


def test_whoever_asks_for_json_or_the_lineage_is_shown_it_too(
    toys, stored, of_gallery, capsys
):
    toys.import_rows("toys/all", stored("old"), toys.version("toys/1"), unchecked=True)
    toys.promote("toys/1", "production", force=True, reason="a test")
    toys.evaluate("toys/2", "toys/1", of_gallery)
    assert "    ! 90 of 90 vectors of the gallery" in toys.lineage("toys").render()
    proof = ["--require-compatible", "--protocol", str(of_gallery)]
    for command, doubts in [
        (["index", "toys/all", "--serve", "toys@production"], 1),
        (["promote", "toys/2", "--to", "production", *proof], 2),
        (["rollback", "toys@production"], 1),
    ]:
        argv = ["--root", toys.root.url, "--json", *command]
        assert main(build_parser().parse_args(argv)) == 0
        told = json.loads(capsys.readouterr().out)["doubts"]
        assert len(told) == doubts
        assert all("90 of 90 vectors" in doubt for doubt in told)
