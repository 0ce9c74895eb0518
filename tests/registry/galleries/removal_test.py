import dataclasses
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from registry import GateRefusedError, IntegrityError, NotFoundError, RegistryError
from registry.galleries.gallery import Gallery
from registry.galleries.manifest import read_manifest
from registry.galleries.removal import remove_rows

OLD, NEW = "a" * 64, "b" * 64
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def gallery(tmp_path):
    """Four rows of `OLD` and two of `NEW`."""
    empty = Gallery.create(tmp_path / "kanji", 3)
    four = empty.append(["i", "j", "k", "l"], ROWS, OLD, labels=["x", "x", "y", None])
    return four.append(["m", "n"], ROWS[:2] + 100, NEW, cameras=["c", "d"])


def files(gallery):
    return sorted(path.name for path in gallery.folder.glob("segment-*"))


def test_the_other_rows_stay_as_they_are(gallery):
    after = remove_rows(gallery, ["j", "m"])
    assert after == Gallery.open(gallery.folder)
    assert (after.generation, after.rows) == (3, 4)
    assert after.fingerprints == {OLD: 3, NEW: 1}
    rows = after.read()
    assert rows.column("id") == ["i", "k", "l", "n"]
    assert rows.column("label") == ["x", "y", None, None]
    assert rows.column("camera") == [None, None, None, "d"]
    np.testing.assert_array_equal(
        rows.embeddings, np.stack([ROWS[0], ROWS[2], ROWS[3], ROWS[1] + 100])
    )
    assert after.verify() == []


def test_what_was_removed_cannot_be_read_any_more(gallery):
    after = remove_rows(gallery, ["j"])
    needle = ROWS[1].tobytes()
    for path in gallery.folder.iterdir():
        assert needle not in path.read_bytes()
    with pytest.raises(NotFoundError, match="oldest with all its rows is 3"):
        after.at(2)
    # `at` says when it was opened, which may be the next second.
    again = after.append(["o"], ROWS[:1], NEW).at(3)
    assert dataclasses.replace(again, created=after.created) == after
    with pytest.raises(RegistryError, match="Open the gallery again"):
        gallery.read()


def test_a_version_without_rows_left_is_gone(gallery):
    after = remove_rows(gallery, ["n", "m"])
    assert after.fingerprints == {OLD: 4}
    assert len(files(after)) == 1


def test_all_rows_can_go(gallery):
    after = remove_rows(gallery, ["i", "j", "k", "l", "m", "n"])
    assert (after.rows, files(after)) == (0, [])
    assert after.append(["i"], ROWS[:1], OLD).read().column("id") == ["i"]


def test_segments_without_such_rows_are_not_written_anew(gallery):
    before = gallery.segments[0]
    after = remove_rows(gallery, ["m"])
    assert after.segments[0] == before
    assert after.digest(OLD) == gallery.digest(OLD)
    assert after.digest(NEW) != gallery.digest(NEW)


@pytest.mark.parametrize("ids", [["i", "z"], []])
def test_ids_that_are_not_there_change_nothing(gallery, ids):
    with pytest.raises(NotFoundError, match="`ids` should name rows"):
        remove_rows(gallery, ids)
    assert Gallery.open(gallery.folder) == gallery


def test_a_damaged_gallery_is_not_written_anew(gallery):
    path = gallery.folder / gallery.segments[0].file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(IntegrityError):
        remove_rows(gallery, ["j"])


def test_a_full_disk_changes_nothing(gallery, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    before = files(gallery)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RegistryError, match=r"No space left.*Nothing was removed"):
            remove_rows(gallery, ["j"])
    assert Gallery.open(gallery.folder) == gallery
    assert files(gallery) == before


def test_rows_are_removed_where_the_disk_does_not_confirm_it(gallery, last_sync_fails):
    """The last sync fails, of the folder in which the manifest was replaced."""
    with last_sync_fails():
        with pytest.raises(
            RegistryError, match=r"is without the rows.*a power cut may"
        ):
            remove_rows(gallery, ["j"])
    after = Gallery.open(gallery.folder)
    assert after.read().column("id") == ["i", "k", "l", "m", "n"]
    assert after.verify() == []
    assert files(after) == sorted(segment.file for segment in after.segments)


@pytest.fixture
def killed(gallery, environment):
    """Kills the removal of `j` and `m` at an instant."""
    script = (
        "import os, signal, sys\n"
        "from registry.galleries.gallery import Gallery\n"
        "from registry.galleries.removal import remove_rows\n"
        "commit = Gallery._commit\n"
        "def die(gallery):\n"
        "    if sys.argv[2] == 'after the manifest':\n"
        "        commit(gallery)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "Gallery._commit = die\n"
        "remove_rows(Gallery.open(sys.argv[1]), ['j', 'm'])\n"
    )

    def kill(instant):
        argv = [sys.executable, "-c", script, str(gallery.folder), instant]
        assert subprocess.run(argv, env=environment).returncode == -signal.SIGKILL

    return kill


@pytest.mark.parametrize("instant", ["before the manifest", "after the manifest"])
def test_killed_it_has_happened_or_it_has_not(gallery, killed, instant):
    killed(instant)
    found = Gallery.open(gallery.folder)
    assert (found == gallery) == (instant == "before the manifest")
    assert found.verify() == []
    # The next writer clears away what is left of either.
    after = found.append(["o"], ROWS[:1], NEW)
    assert files(after) == sorted(segment.file for segment in after.segments)


def test_repeated_after_a_kill_it_leaves_no_trace(gallery, killed):
    """The manifest had been replaced, the old files not yet deleted."""
    killed("after the manifest")
    needle = ROWS[1].tobytes()
    assert any(needle in path.read_bytes() for path in gallery.folder.iterdir())
    with pytest.raises(NotFoundError, match="`ids` should name rows"):
        remove_rows(Gallery.open(gallery.folder), ["j", "m"])
    for path in gallery.folder.iterdir():
        assert needle not in path.read_bytes()


def test_whoever_opens_it_meanwhile_sees_the_gallery_before_or_after(
    gallery, monkeypatch
):
    """The rows go when the manifest has been read, and its segments not yet."""

    def interrupted(folder):
        content = read_manifest(folder)
        monkeypatch.undo()
        remove_rows(gallery, ["j"])
        return content

    monkeypatch.setattr("registry.galleries.gallery.read_manifest", interrupted)
    opened = Gallery.open(gallery.folder)
    assert opened.read().column("id") == ["i", "k", "l", "m", "n"]


def test_a_segment_is_written_anew_a_batch_at_a_time(tmp_path, monkeypatch):
    """One larger than the memory has to go through it."""
    monkeypatch.setattr("registry.galleries.segment._ROWS_PER_BATCH", 1000)
    vectors = np.random.default_rng(0).normal(size=(50_000, 8))
    names = [f"row-{number}" for number in range(len(vectors))]
    large = Gallery.create(tmp_path / "large", 8).append(names, vectors, OLD)
    pool = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(pool)
    pa.set_memory_pool(counted)
    try:
        after = remove_rows(large, ["row-4321"])
    finally:
        pa.set_memory_pool(pool)
    assert after.rows == 49_999
    assert counted.max_memory() < large.segments[0].size / 10


@pytest.mark.slow
def test_one_that_appends_and_one_that_removes_lose_nothing(gallery, environment):
    script = (
        "import sys, numpy as np\n"
        "from registry.galleries.gallery import Gallery\n"
        "from registry.galleries.removal import remove_rows\n"
        "gallery = Gallery.open(sys.argv[1])\n"
        "for n in range(10):\n"
        "    name = f'{sys.argv[2]}{n}'\n"
        "    gallery.append([name], np.ones((1, 3)), 'b' * 64)\n"
        "    if sys.argv[2] == 'p':\n"
        "        remove_rows(gallery, [name])\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(gallery.folder), name], env=environment
        )
        for name in ("p", "q")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    after = Gallery.open(gallery.folder)
    expected = {"i", "j", "k", "l", "m", "n"} | {f"q{n}" for n in range(10)}
    assert set(after.read().column("id")) == expected
    assert after.verify() == []


def test_evidence_on_removed_rows_is_void(three, make_evidence, fill_gallery, protocol):
    protocol.write_text(
        protocol.read_text().replace(
            "source: tfrecord, path: gallery.tfrecord", "source: gallery, path: kanji"
        )
    )
    fill_gallery("kanji", "glyphs/1")
    three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    assert three.remove_rows("kanji", ["row-3", "row-4"]) == 2
    with pytest.raises(GateRefusedError, match="other data"):
        three.promote("glyphs/2", "production", require_compatible=True)
