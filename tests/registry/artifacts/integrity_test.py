import os
from pathlib import Path

import pytest

from registry import IntegrityError


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


class TestVectorsThatWereChanged:
    """Their size is right, so that only reading them finds it."""

    @pytest.fixture
    def changed(self, filled):
        file = filled.gallery("kanji/gallery").folder / "segment-000001.arrow"
        content = bytearray(file.read_bytes())
        at = content.find(
            filled.gallery("kanji/gallery").read().embeddings[3].tobytes()
        )
        content[at : at + 4] = b"abcd"
        file.write_bytes(content)
        return filled

    def test_make_no_index(self, changed):
        changed.promote("glyphs/1", "production", require_compatible=True)
        before = changed.indices()
        with pytest.raises(IntegrityError, match=r"segment-000001\.arrow: content"):
            changed.publish_index("kanji/gallery", "glyphs", "production")
        assert changed.indices() == before

    def test_are_no_data_of_a_protocol(self, changed, make_model, protocol):
        changed.register("glyphs", make_model("b"))
        protocol.write_text(
            protocol.read_text().replace(
                "source: tfrecord, path: gallery.tfrecord",
                "source: gallery, path: kanji/gallery",
            )
        )
        changed.promote("glyphs/1", "new", require_compatible=True, protocol=protocol)
        with pytest.raises(IntegrityError, match=r"segment-000001\.arrow: content"):
            changed.promote("glyphs/2", "new", require_compatible=True)


def test_a_manifest_that_names_other_versions_than_the_rows_do(filled):
    manifest = filled.gallery("kanji/gallery").folder / "manifest.json"
    maker = filled.version("glyphs/1").fingerprint
    manifest.write_text(manifest.read_text().replace(maker, "0" * 64))
    (bad,) = filled.verify()["gallery kanji/gallery"]
    assert "names other versions" in bad


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "null", "{}", '{"schema": 1}', '{"files": 1}', "\xff"],
)
def test_manifests_that_say_nothing_are_named(filled, text):
    folders = {
        "glyphs/1": filled.root.path("glyphs", "1", "assets.extra"),
        "gallery kanji/gallery": filled.gallery("kanji/gallery").folder,
        "index glyphs#1": filled.root.path("indices", "glyphs", "1"),
    }
    for folder in folders.values():
        (folder / "manifest.json").write_text(text, encoding="latin-1")
    found = filled.verify()
    for name in folders:
        assert "manifest.json" in found[name][0]
    with pytest.raises(IntegrityError, match=r"manifest\.json"):
        filled.promote("glyphs/1", "new", require_compatible=True)


def test_a_changed_index_is_named(filled):
    flip(Path(filled.root.url, "indices/glyphs/1/rows.arrow"))
    assert filled.verify()["index glyphs#1"] == ["rows.arrow: content changed"]


def a_linked_folder(folder, elsewhere):
    (folder / "variables").rename(elsewhere)
    (folder / "variables").symlink_to(elsewhere)


def a_folder_linked_in(folder, elsewhere):
    elsewhere.mkdir()
    (folder / "extra").symlink_to(elsewhere)


def a_link_to_nothing(folder, elsewhere):
    (folder / "extra").symlink_to(elsewhere)


def a_pipe(folder, elsewhere):
    os.mkfifo(folder / "extra")


@pytest.mark.parametrize(
    "damage", [a_linked_folder, a_folder_linked_in, a_link_to_nothing, a_pipe]
)
def test_what_is_no_file_is_named_and_not_opened(filled, tmp_path, damage):
    damage(filled.root.path("glyphs", "1"), tmp_path / "elsewhere")
    (bad,) = filled.verify()["glyphs/1"]
    assert bad.split(":")[0] in ("variables", "extra")
    with pytest.raises(IntegrityError, match="link or a pipe"):
        filled.promote("glyphs/1", "new", require_compatible=True)
