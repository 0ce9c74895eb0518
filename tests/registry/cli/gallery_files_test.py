"""Rows that come from files and go into them, on the command line."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)


@pytest.fixture
def take(run, promoted):
    """Imports a file under a version's name, on trust."""

    def take(gallery, path, version="glyphs/1", *options):
        named = ("--import-file", path, "--version", version, "--unchecked")
        return run("gallery", gallery, *named, *options)

    return take


@pytest.fixture
def stored(take, promoted, tmp_path):
    """A gallery whose ids are such as other tools cut in pieces."""
    table = pa.table(
        {
            "id": ["漢字", "🙂", "a\u2028b", "b"],
            "label": ["x", None, "カ", "None"],
            "embedding": ROWS.tolist(),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    assert take("kanji", tmp_path / "rows.parquet").code == 0
    return promoted.gallery("kanji")


def test_one_id_a_line_is_one_id_whatever_characters_it_has(
    run, promoted, stored, tmp_path
):
    (tmp_path / "ids.txt").write_bytes("a\u2028b\r\n🙂\n".encode())
    done = run("gallery", "kanji", "--remove-ids", tmp_path / "ids.txt")

    assert done.code == 0
    assert promoted.gallery("kanji").read().column("id") == ["漢字", "b"]


@pytest.mark.parametrize(
    "character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"]
)
def test_no_character_but_a_line_feed_ends_an_id(
    run, promoted, stored, tmp_path, character
):
    (tmp_path / "ids.txt").write_bytes(f"漢字{character}b\n".encode())

    assert run("gallery", "kanji", "--remove-ids", tmp_path / "ids.txt").code == 2
    assert promoted.gallery("kanji").rows == 4


@pytest.mark.parametrize("name", ["rows.npz", "rows.arrow", "rows.parquet"])
def test_an_export_is_imported_as_it_was(take, run, promoted, stored, tmp_path, name):
    run("gallery", "kanji", "--export-file", tmp_path / name)
    assert take("again", tmp_path / name).code == 0

    before, after = stored.read(), promoted.gallery("again").read()
    for column in ("id", "label", "camera", "fingerprint"):
        assert after.column(column) == before.column(column)
    np.testing.assert_array_equal(after.embeddings, before.embeddings)


@pytest.mark.parametrize("name", ["rows.npz", "rows.arrow", "rows.parquet"])
def test_an_export_is_not_imported_as_what_another_version_made(
    take, run, promoted, stored, tmp_path, name
):
    run("gallery", "kanji", "--export-file", tmp_path / name)
    refused = take("again", tmp_path / name, "glyphs/2")

    assert refused.code == 2
    for version in (promoted.version("glyphs/1"), promoted.version("glyphs/2")):
        assert f"{version} ({version.fingerprint[:12]})" in refused.err
    assert promoted.galleries() == ["kanji"]


def test_rows_of_two_versions_go_by_one_file_each(
    take, run, promoted, stored, tmp_path
):
    np.savez(tmp_path / "new.npz", id=["n"], embedding=ROWS[:1])
    take("kanji", tmp_path / "new.npz", "glyphs/2")
    run("gallery", "kanji", "--export-file", tmp_path / "both.parquet")
    for version in ("glyphs/1", "glyphs/2"):
        path = tmp_path / f"{version[-1]}.parquet"
        argv = ("gallery", "kanji", "--export-file", path, "--version", version)
        assert run(*argv).code == 0

        assert "--export-file with --version" in (
            take("mixed", tmp_path / "both.parquet", version).err
        )
        assert take("apart", path, version).code == 0
    assert promoted.gallery("apart").fingerprints == (
        promoted.gallery("kanji").fingerprints
    )


def test_columns_are_named_as_the_file_names_them(take, promoted, tmp_path):
    np.savez(tmp_path / "rows.npz", name=["i"], vector=ROWS[:1], who=["x"])
    options = ("--columns", "id=name,embedding=vector,label=who")

    assert take("kanji", tmp_path / "rows.npz", "glyphs/1", *options).code == 0
    assert promoted.gallery("kanji").read().column("label") == ["x"]


@pytest.mark.parametrize(
    "columns", ["", "id", "id=", "=name", "id=a,id=b", "name=id", "id=a,,label=b"]
)
def test_columns_that_say_nothing_are_refused(take, promoted, tmp_path, columns):
    np.savez(tmp_path / "rows.npz", id=["i"], embedding=ROWS[:1])
    refused = take("kanji", tmp_path / "rows.npz", "glyphs/1", "--columns", columns)

    assert refused.code == 2
    assert "olumns" in refused.err
    assert promoted.galleries() == []


def write_npy(path):
    np.save(path, ROWS)
    path.with_suffix(".csv").write_text("id,label\na,x\nb,\nc,y\nd,\n")


def test_vectors_beside_a_csv_file_are_imported(take, promoted, tmp_path):
    write_npy(tmp_path / "rows.npy")

    assert take("kanji", tmp_path / "rows.npy").code == 0
    assert promoted.gallery("kanji").read().column("label") == ["x", None, "y", None]


def test_a_file_that_is_half_makes_no_gallery_and_no_traceback(
    take, promoted, tmp_path
):
    for name in ("rows.npz", "rows.npy", "rows.parquet", "rows.arrow"):
        (tmp_path / "rows.csv").write_text("id\na\n")
        (tmp_path / name).write_bytes(b"half")
        refused = take("kanji", tmp_path / name, "glyphs/1", "--json")

        assert refused.code == 2
        assert name in json.loads(refused.out)["error"]["message"]
    assert promoted.galleries() == []
