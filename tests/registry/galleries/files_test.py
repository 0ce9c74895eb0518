import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from registry.errors import RegistryError, UsageError
from registry.galleries.files import export_file, read_file
from registry.galleries.gallery import Gallery

OLD, NEW = "a" * 64, "b" * 64
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def gallery(tmp_path):
    return Gallery.create(tmp_path / "kanji", 3)


def imported(gallery, path, columns=None):
    """The gallery with the rows of a file, as `registry gallery --import-file` does."""
    rows = read_file(path, columns)
    del rows["fingerprints"]
    return gallery.append(fingerprint=OLD, **rows)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.npz", "ROWS.NPZ"])
def test_what_is_exported_and_imported_again_is_the_same(gallery, tmp_path, name):
    ids = ["漢字", "🙂", "a\u2028b", "a\nb", "None"]
    labels = ["x", None, "カ", "", "nan"]
    cameras = [None, "c\u2029d", None, "7", None]
    rows = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    filled = gallery.append(ids, rows, OLD, labels=labels, cameras=cameras)
    again = Gallery.create(tmp_path / "again", 3)

    assert export_file(filled, tmp_path / name) == 5
    copy = imported(again, tmp_path / name).read()
    assert copy.column("id") == ids
    assert copy.column("label") == ["x", None, "カ", None, "nan"]
    assert copy.column("camera") == cameras
    assert read_file(tmp_path / name)["fingerprints"].tolist() == [OLD] * 5
    np.testing.assert_array_equal(copy.embeddings, rows)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npz"])
def test_the_rows_of_one_version_can_be_exported_by_themselves(
    gallery, tmp_path, suffix
):
    both = gallery.append(["i", "j"], ROWS, OLD)
    # Of another size, for an index of rows that go through an adapter.
    both = both.append(["k"], np.ones((1, 5), np.float32), NEW, embedding_size=5)

    assert export_file(both, tmp_path / f"new{suffix}", NEW) == 1
    table = read_file(tmp_path / f"new{suffix}")
    assert table["ids"].tolist() == ["k"]
    assert table["embeddings"].shape == (1, 5)
    with pytest.raises(UsageError, match="no rows of that version"):
        export_file(both, tmp_path / f"none{suffix}", "c" * 64)


def test_parquet_of_another_tool(gallery, tmp_path):
    table = pa.table(
        {
            "id": [7, 8],
            "label": [1, None],
            "embedding": pa.array([[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]).cast(
                pa.large_list(pa.float64())
            ),
            "price": [1.0, 2.0],
        }
    )
    pq.write_table(table, tmp_path / "rows.PARQUET")
    rows = imported(gallery, tmp_path / "rows.PARQUET").read()
    assert rows.column("id") == ["7", "8"]
    assert rows.column("label") == ["1", None]
    assert rows.column("camera") == [None, None]
    assert rows.embeddings.tolist() == [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]


def test_columns_may_be_called_something_else(gallery, tmp_path):
    np.savez(tmp_path / "rows.npz", name=["i", "j"], who=["x", "y"], vector=ROWS)
    columns = {"id": "name", "embedding": "vector", "label": "who"}
    rows = imported(gallery, tmp_path / "rows.npz", columns).read()

    assert rows.column("id") == ["i", "j"]
    assert rows.column("label") == ["x", "y"]
    with pytest.raises(UsageError, match="no 'camra'"):
        read_file(tmp_path / "rows.npz", {**columns, "camera": "camra"})
    with pytest.raises(UsageError, match="Received: idd"):
        read_file(tmp_path / "rows.npz", {"idd": "name"})


def test_null_ids_are_refused_with_their_row(gallery, tmp_path):
    table = pa.table({"id": ["a", None, "c"], "embedding": np.eye(3).tolist()})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(UsageError, match=r"rows\.parquet: `id` .* none in row 1"):
        read_file(tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    "rows",
    [[[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]], [[1.0, 2.0, 3.0], None], [[1.0], [2.0]]],
)
def test_embeddings_of_unequal_or_wrong_length_are_refused(gallery, tmp_path, rows):
    table = pa.table({"id": ["i", "j"], "embedding": rows})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(UsageError):
        imported(gallery, tmp_path / "rows.parquet")
    assert Gallery.open(gallery.folder) == gallery


def test_missing_columns_are_named(tmp_path):
    np.savez(tmp_path / "rows.npz", ids=["i"], embedding=ROWS[:1])
    with pytest.raises(UsageError, match="no 'id'; there are 'ids', 'embedding'"):
        read_file(tmp_path / "rows.npz")


def test_pickled_objects_are_not_loaded(tmp_path):
    np.savez(tmp_path / "rows.npz", id=np.array(["i", None], object), embedding=ROWS)
    with pytest.raises(UsageError, match="Python objects"):
        read_file(tmp_path / "rows.npz")


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.npz", "none.npz"])
def test_files_that_are_none_of_these_are_refused(tmp_path, name):
    (tmp_path / name.replace("none", "rows")).write_bytes(b"id,embedding")
    with pytest.raises(UsageError, match=name):
        read_file(tmp_path / name)


@pytest.mark.parametrize("name", ["rows.csv", "rows"])
def test_other_kinds_of_files_are_not_written(gallery, tmp_path, name):
    with pytest.raises(UsageError, match=name):
        export_file(gallery, tmp_path / name)


# The zip file that could not be closed is closed again when it is thrown away.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npz"])
def test_an_export_that_fails_leaves_the_older_file(gallery, tmp_path, suffix):
    filled = gallery.append(["i", "j"], ROWS, OLD)
    path = tmp_path / "export" / f"rows{suffix}"
    export_file(filled, path)
    before = path.read_bytes()
    more = np.ones((20_000, 3), np.float32)
    larger = filled.append([f"r{n}" for n in range(20_000)], more, OLD)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A file may not grow beyond this, as on a full disk; Python ignores SIGXFSZ.
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(RegistryError, match="What was there before is unchanged"):
            export_file(larger, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
