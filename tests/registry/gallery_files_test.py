import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from registry.errors import InvalidGalleryError, RegistryError, UsageError
from registry.gallery import Gallery
from registry.gallery_files import export_file, import_file

OLD, NEW = "a" * 64, "b" * 64
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def gallery(tmp_path):
    return Gallery.create(tmp_path / "kanji", 3)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npz"])
def test_what_is_exported_can_be_imported(gallery, tmp_path, suffix):
    filled = gallery.append(["i", "j"], ROWS, OLD, labels=["x", "y"])
    filled = filled.append(["k"], ROWS[:1] + 9, NEW, labels=["x"])
    path = tmp_path / f"rows{suffix}"
    assert export_file(filled, path) == 3
    copy = import_file(Gallery.create(tmp_path / "copy", 3), path, OLD)
    rows = copy.read()
    assert rows.column("id") == ["i", "j", "k"]
    assert rows.column("label") == ["x", "y", "x"]
    np.testing.assert_array_equal(rows.embeddings, filled.read().embeddings)


def test_parquet_of_another_tool(gallery, tmp_path):
    table = pa.table(
        {
            "id": [7, 8],
            "embedding": [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]],
            "price": [1.0, 2.0],
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    rows = import_file(gallery, tmp_path / "rows.parquet", OLD).read()
    assert rows.column("id") == ["7", "8"]
    assert rows.column("label") == [None, None]
    assert rows.embeddings.tolist() == [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]


@pytest.mark.parametrize(
    "rows",
    [[[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]], [[1.0, 2.0, 3.0], None], [[1.0], [2.0]]],
)
def test_embeddings_of_unequal_or_wrong_length_are_refused(gallery, tmp_path, rows):
    table = pa.table({"id": ["i", "j"], "embedding": rows})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InvalidGalleryError):
        import_file(gallery, tmp_path / "rows.parquet", OLD)
    assert Gallery.open(gallery.folder) == gallery


def test_missing_columns_are_named(gallery, tmp_path):
    np.savez(tmp_path / "rows.npz", ids=["i"], embedding=ROWS[:1])
    with pytest.raises(UsageError, match="`id` and `embedding`"):
        import_file(gallery, tmp_path / "rows.npz", OLD)


def test_pickled_objects_are_not_loaded(gallery, tmp_path):
    np.savez(tmp_path / "rows.npz", id=np.array(["i", None], object), embedding=ROWS)
    with pytest.raises(UsageError, match="cannot be read"):
        import_file(gallery, tmp_path / "rows.npz", OLD)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.npz"])
def test_files_that_are_none_of_these_are_refused(gallery, tmp_path, name):
    (tmp_path / name).write_bytes(b"id,embedding")
    with pytest.raises(UsageError):
        import_file(gallery, tmp_path / name, OLD)


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
