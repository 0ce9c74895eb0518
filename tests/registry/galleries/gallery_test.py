import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest

from registry import Registry
from registry.errors import (
    IntegrityError,
    InvalidGalleryError,
    NotFoundError,
    RegistryError,
    UsageError,
)
from registry.galleries.gallery import Gallery

OLD, NEW = "a" * 64, "b" * 64
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def gallery(tmp_path):
    """Four rows of `OLD`, three components."""
    empty = Gallery.create(tmp_path / "kanji", 3)
    return empty.append(["i", "j", "k", "l"], ROWS, OLD, labels=["x", "x", "y", None])


def test_rows_come_back_as_they_were(gallery):
    rows = Gallery.open(gallery.folder).read()
    assert rows.column("id") == ["i", "j", "k", "l"]
    assert rows.column("label") == ["x", "x", "y", None]
    assert rows.column("camera") == [None] * 4
    assert rows.column("fingerprint") == [OLD] * 4
    np.testing.assert_array_equal(rows.embeddings, ROWS)


def test_any_arrow_reader_opens_a_segment(gallery):
    with pa.memory_map(str(gallery.folder / gallery.segments[0].file)) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.column_names == ["id", "label", "camera", "fingerprint", "embedding"]
    assert table.column("embedding").type == pa.list_(pa.float32(), 3)
    assert table.column("embedding").to_pylist()[1] == [3.0, 4.0, 5.0]


def test_embeddings_are_mapped_not_copied(gallery):
    before = pa.total_allocated_bytes()
    rows = gallery.read()
    embeddings = rows.embeddings
    assert pa.total_allocated_bytes() == before
    assert not embeddings.flags.owndata


def test_rows_of_a_second_version_come_after_the_first(gallery):
    after = gallery.append(["m"], ROWS[:1] + 1, NEW)
    assert after.fingerprints == {OLD: 4, NEW: 1}
    assert after.read().column("id") == ["i", "j", "k", "l", "m"]
    assert after.read(NEW).column("id") == ["m"]
    assert after.read(OLD).embeddings.shape == (4, 3)
    assert len(after.read("c" * 64)) == 0


def test_generations_count_up_and_earlier_ones_stay(gallery):
    after = gallery.append(["m"], ROWS[:1], NEW)
    assert (gallery.generation, after.generation) == (1, 2)
    assert after.at(1).read().column("id") == ["i", "j", "k", "l"]
    assert after.at(0).rows == 0
    with pytest.raises(NotFoundError, match="generation 2"):
        after.at(3)


def test_the_digest_of_old_rows_ignores_new_ones(gallery):
    digest = gallery.digest(OLD)
    assert gallery.append(["m"], ROWS[:1], NEW).digest(OLD) == digest
    assert gallery.append(["n"], ROWS[:1], OLD).digest(OLD) != digest


def test_ids_that_are_held_are_known(gallery):
    after = gallery.append(["m"], ROWS[:1], NEW)
    assert after.ids_held(["j", "m", "z"]) == {"j", "m"}


BAD = {
    "NaN": (["m"], [[0.0, np.nan, 0.0]], "finite.*'m'"),
    "infinity": (["m"], [[0.0, np.inf, 0.0]], "finite"),
    "a number too large for float32": (["m"], [[0.0, 1e300, 0.0]], "finite"),
    "another width": (["m"], [[0.0, 1.0]], "have 3 components. Received: 2"),
    "one dimension": (["m"], [0.0, 1.0, 2.0], "shape"),
    "whole numbers": (["m"], [[0, 1, 2]], "floating"),
    "no rows": ([], np.empty((0, 3)), "at least one row"),
    "too few ids": (["m"], ROWS[:2], "each of the 2 rows"),
    "an id twice": (["m", "m"], ROWS[:2], "'m' 2 times"),
    "an empty id": ([""], ROWS[:1], "none in row 0"),
    "an id that is held": (["m", "k"], ROWS[:2], r"such as \['k'\]"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rows_are_refused_before_anything_changes(gallery, case):
    ids, embeddings, message = BAD[case]
    before = sorted(os.listdir(gallery.folder))
    with pytest.raises(InvalidGalleryError, match=message):
        gallery.append(ids, np.array(embeddings), NEW)
    assert Gallery.open(gallery.folder) == gallery
    assert sorted(os.listdir(gallery.folder)) == before


def test_a_fingerprint_is_not_a_version_name(gallery):
    with pytest.raises(UsageError, match="64 hexadecimal"):
        gallery.append(["m"], ROWS[:1], "glyphs/1")


def test_rows_without_label_or_camera_are_a_side_where_they_are_missing(tmp_path):
    empty = Gallery.create(tmp_path / "kanji", 3)
    rows = np.eye(4, 3, dtype=np.float32)
    labels, cameras = ["x", None, float("nan"), ""], [None, "c", "", "d"]
    filled = empty.append(list("abcd"), rows, NEW, labels=labels, cameras=cameras)
    side = filled.read().embedding_set()

    assert filled.read().column("label") == ["x", None, None, None]
    assert side.labels.tolist() == ["x", "", "", ""]
    assert side.cameras.tolist() == ["", "c", "", "d"]


@pytest.mark.parametrize("missing", [None, "", float("nan"), b""])
def test_an_id_that_is_missing_is_refused(gallery, missing):
    with pytest.raises(InvalidGalleryError, match=r"`ids` .*none in row 1"):
        gallery.append(["m", missing], ROWS[:2], NEW)
    assert Gallery.open(gallery.folder) == gallery


def test_ids_that_no_file_can_hold_are_refused(gallery):
    for name in ("\udcff", b"\xff", ["m"]):
        with pytest.raises(InvalidGalleryError, match=r"`ids` .*row 0"):
            gallery.append([name], ROWS[:1], NEW)
    with pytest.raises(InvalidGalleryError, match="Nothing was appended"):
        gallery.append(np.array(["\udcff"]), ROWS[:1], NEW)


def test_labelled_rows_are_a_side_of_a_protocol(gallery):
    after = gallery.append(["m", "n"], ROWS[:2], NEW, labels=["x", "y"])
    side = after.read(NEW).embedding_set()
    assert list(side.ids) == ["m", "n"]
    assert list(side.labels) == ["x", "y"]
    assert side.cameras is None


def test_no_gallery_is_said_so(tmp_path):
    with pytest.raises(NotFoundError, match="no gallery"):
        Gallery.open(tmp_path)


def test_a_second_gallery_in_one_folder_is_refused(gallery):
    with pytest.raises(UsageError, match="already"):
        Gallery.create(gallery.folder, 3)


def test_a_newer_format_is_refused(gallery):
    path = gallery.folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 4}))
    with pytest.raises(RegistryError, match="Upgrade"):
        Gallery.open(gallery.folder)


def test_a_segment_that_was_cut_short_is_not_mapped(gallery):
    path = gallery.folder / gallery.segments[0].file
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(IntegrityError, match=r"segment-000001\.arrow"):
        Gallery.open(gallery.folder)


def test_a_changed_byte_is_found(gallery):
    path = gallery.folder / gallery.segments[0].file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert gallery.verify() == ["segment-000001.arrow: content changed"]


def test_a_manifest_that_was_cut_short_is_said_so(gallery):
    path = gallery.folder / "manifest.json"
    path.write_text(path.read_text()[:40])
    with pytest.raises(IntegrityError, match=r"manifest\.json"):
        Gallery.open(gallery.folder)


@pytest.mark.parametrize("instant", ["in the segment", "before the manifest"])
def test_a_killed_append_is_invisible_and_cleared(gallery, environment, instant):
    script = textwrap.dedent(
        """
        import os, signal, sys
        import numpy as np
        from registry.galleries import gallery

        def die(*_):
            os.kill(os.getpid(), signal.SIGKILL)

        if sys.argv[2] == "before the manifest":
            gallery.Gallery._commit = die
        else:
            os.fsync = die
        gallery.Gallery.open(sys.argv[1]).append(["m"], np.ones((1, 3)), "b" * 64)
        """
    )
    died = subprocess.run(
        [sys.executable, "-c", script, str(gallery.folder), instant], env=environment
    )
    assert died.returncode == -signal.SIGKILL
    assert (gallery.folder / "segment-000002.arrow").exists()
    assert Gallery.open(gallery.folder) == gallery
    after = gallery.append(["n"], ROWS[:1], NEW)
    assert after.read().column("id") == ["i", "j", "k", "l", "n"]
    assert after.verify() == []


def test_a_full_disk_changes_nothing(gallery, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RegistryError, match=r"No space left.*Nothing was appended"):
            gallery.append(["m"], ROWS[:1], NEW)
    assert Gallery.open(gallery.folder) == gallery
    assert len(list(gallery.folder.glob("segment-*"))) == 1


def test_rows_that_the_manifest_names_stay_where_the_disk_does_not_confirm_it(
    gallery, last_sync_fails
):
    """The last sync fails, of the folder in which the manifest was replaced."""
    with last_sync_fails():
        with pytest.raises(RegistryError, match=r"1 row stored in .*a power cut may"):
            gallery.append(["m"], ROWS[:1], NEW)
    after = Gallery.open(gallery.folder)
    assert after.read().column("id") == ["i", "j", "k", "l", "m"]
    assert after.verify() == []
    assert after.append(["n"], ROWS[:1], NEW).rows == 6


def test_two_writers_lose_no_row(gallery, environment):
    script = (
        "import sys, numpy as np\n"
        "from registry.galleries.gallery import Gallery\n"
        "gallery = Gallery.open(sys.argv[1])\n"
        "for n in range(20):\n"
        "    gallery.append([f'{sys.argv[2]}{n}'], np.ones((1, 3)), 'b' * 64)\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(gallery.folder), name], env=environment
        )
        for name in ("p", "q")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    after = Gallery.open(gallery.folder)
    expected = {"i", "j", "k", "l"} | {f"{p}{n}" for p in "pq" for n in range(20)}
    assert set(after.read().column("id")) == expected
    assert after.rows == 44
    assert after.verify() == []


def test_rows_that_the_database_does_not_know_are_not_cleared_away(
    registry, make_model, fill_gallery, empty_database, tmp_path
):
    """A database restored from an older copy, or another one on the same root."""
    registry.register("glyphs", make_model("a"))
    before = fill_gallery("kanji", "glyphs/1")
    shutil.copy(empty_database, tmp_path / "older.db")
    older = Registry(registry.root.url, database=f"sqlite:///{tmp_path}/older.db")
    older.register("faces", make_model("b"))
    with pytest.raises(RegistryError, match=r"kanji has rows.*Move it away"):
        older.create_gallery("kanji", "faces", 64)
    assert older.galleries() == []
    assert registry.gallery("kanji") == before
    older.database.close()


class TestRowsOfAnotherSize:
    """A version whose space the index is in, beside rows that are mapped into it."""

    WIDE = np.arange(10, dtype=np.float32).reshape(2, 5) + 0.5

    @pytest.fixture
    def both(self, gallery):
        return gallery.append(["m", "n"], self.WIDE, NEW, embedding_size=5)

    def test_are_stored_whole_when_that_is_asked(self, both):
        assert both.sizes == {OLD: 3, NEW: 5}
        np.testing.assert_array_equal(both.read(NEW).embeddings, self.WIDE)
        np.testing.assert_array_equal(both.read(OLD).embeddings, ROWS)
        assert Gallery.open(both.folder) == both
        assert both.verify() == []

    def test_are_read_together_but_not_as_one_matrix(self, both):
        rows = both.read()
        assert rows.column("id") == ["i", "j", "k", "l", "m", "n"]
        assert rows.table.column("embedding").to_pylist() == [
            *ROWS.tolist(),
            *self.WIDE.tolist(),
        ]
        with pytest.raises(UsageError, match="3 and 5 components"):
            _ = rows.embeddings

    def test_are_of_one_size_for_each_version(self, both):
        with pytest.raises(InvalidGalleryError, match=r"have 5 components.*3"):
            both.append(["o"], ROWS[:1], NEW)

    def test_are_left_when_others_are_removed(self, both):
        from registry.galleries.removal import remove_rows

        after = remove_rows(both, ["j", "m"])
        assert after.sizes == {OLD: 3, NEW: 5}
        np.testing.assert_array_equal(after.read(NEW).embeddings, self.WIDE[1:])

    def test_go_to_a_parquet_file_as_they_are(self, both, tmp_path):
        import pyarrow.parquet as pq

        from registry.galleries.files import export_file

        assert export_file(both, tmp_path / "all.parquet") == 6
        table = pq.read_table(tmp_path / "all.parquet")
        assert [len(v) for v in table.column("embedding").to_pylist()] == [3] * 4 + [
            5
        ] * 2


def test_a_gallery_of_the_first_release_is_read(gallery):
    path = gallery.folder / "manifest.json"
    content = json.loads(path.read_text())
    del content["oldest"]
    for segment in content["segments"]:
        del segment["embedding_size"]
    path.write_text(json.dumps({**content, "schema": 1}))
    assert Gallery.open(gallery.folder) == gallery


class TestUncheckedRows:
    """Rows that are a version's by word alone are known as such, for ever."""

    def test_are_counted_by_version(self, gallery):
        assert gallery.unchecked == {OLD: 4}
        after = gallery.append(["m"], ROWS[:1], NEW, checked=True)
        after = after.append(["n"], ROWS[:1], OLD, checked=True)
        assert after.unchecked == {OLD: 4}
        assert after.fingerprints == {OLD: 5, NEW: 1}
        assert Gallery.open(gallery.folder).unchecked == {OLD: 4}

    def test_stay_so_when_others_are_removed(self, gallery):
        from registry.galleries.removal import remove_rows

        gallery.append(["m", "n"], ROWS[:2], NEW, checked=True)
        assert remove_rows(gallery, ["j", "n"]).unchecked == {OLD: 3}

    def test_are_not_known_of_galleries_of_the_second_schema(self, gallery):
        path = gallery.folder / "manifest.json"
        content = json.loads(path.read_text())
        for segment in content["segments"]:
            del segment["unchecked"]
        path.write_text(json.dumps({**content, "schema": 2}))
        assert Gallery.open(gallery.folder).unchecked == {}
