from pathlib import Path

import pytest


@pytest.fixture
def filled(registry, make_model, fill_gallery):
    """A version, a gallery and an index."""
    registry.register("glyphs", make_model("a"))
    fill_gallery("kanji/gallery", "glyphs/1")
    registry.build_index("kanji/gallery", "glyphs")
    return registry


def test_untouched_files_are_in_order(filled):
    assert filled.verify() == {
        "glyphs/1": [],
        "gallery kanji/gallery": [],
        "index glyphs#1": [],
    }


def test_of_one_model_only(filled, make_model):
    filled.register("faces", make_model("b"))
    assert filled.verify("faces") == {"faces/1": []}


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_changed_byte_in_a_version_is_named(filled):
    flip(Path(filled.root.url, "glyphs/1/saved_model.pb"))
    assert filled.verify()["glyphs/1"] == ["saved_model.pb: content changed"]


def test_a_missing_file_is_named(filled):
    Path(filled.root.url, "glyphs/1/variables/variables.data").unlink()
    assert filled.verify()["glyphs/1"] == ["variables/variables.data: missing"]


def test_a_file_too_many_is_named(filled):
    Path(filled.root.url, "glyphs/1/keras_metadata.pb").touch()
    assert filled.verify()["glyphs/1"] == ["keras_metadata.pb: was not registered"]


def test_a_manifest_that_was_changed_with_the_files_is_found_out(filled, make_model):
    """Whoever replaces a version also replaces its manifest."""
    filled.register("glyphs", make_model("b"))
    for name in ("variables/variables.data", "assets.extra/manifest.json"):
        other = Path(filled.root.url, "glyphs/2", name).read_bytes()
        Path(filled.root.url, "glyphs/1", name).write_bytes(other)
    (bad,) = filled.verify()["glyphs/1"]
    assert "manifest.json: does not belong to glyphs/1" in bad


def test_a_version_without_manifest_is_named(filled):
    Path(filled.root.url, "glyphs/1/assets.extra/manifest.json").unlink()
    (bad,) = filled.verify()["glyphs/1"]
    assert bad.startswith("assets.extra/manifest.json: cannot be read")


def test_a_changed_gallery_is_named(filled):
    flip(Path(filled.root.url, "galleries/kanji/gallery/segment-000001.arrow"))
    assert filled.verify()["gallery kanji/gallery"] == [
        "segment-000001.arrow: content changed"
    ]


def test_a_gallery_that_is_gone_is_named(filled):
    Path(filled.root.url, "galleries/kanji/gallery/manifest.json").unlink()
    assert filled.verify()["gallery kanji/gallery"] == ["manifest.json: missing"]


def test_a_changed_index_is_named(filled):
    flip(Path(filled.root.url, "indices/glyphs/1/rows.arrow"))
    assert filled.verify()["index glyphs#1"] == ["rows.arrow: content changed"]
