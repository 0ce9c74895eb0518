import numpy as np
import pytest

from keras_bct.evaluation import EmbeddingSet


def test_columns_become_strings_and_rows_float32():
    items = EmbeddingSet([b"a", b"b"], [1, 2], np.array(["c", "d"], object), np.eye(2))

    assert items.ids.tolist() == ["a", "b"]
    assert items.labels.tolist() == ["1", "2"]
    assert items.cameras.tolist() == ["c", "d"]
    assert items.embeddings.dtype == np.float32
    assert len(items) == 2
    assert items.embedding_size == 2


@pytest.mark.parametrize("missing", [None, float("nan"), "", b""])
@pytest.mark.parametrize("name", ["labels", "cameras", "templates", "media"])
def test_a_name_that_is_missing_is_no_class_or_camera(name, missing):
    columns = {"ids": list("abc"), "labels": list("xyz"), "cameras": None}
    columns[name] = ["1", missing, missing]
    items = EmbeddingSet(**columns, embeddings=np.eye(3))

    assert getattr(items, name).tolist() == ["1", "", ""]
    assert getattr(items.take(np.array([0, 1])), name).tolist() == ["1", ""]


def test_classes_that_are_numbers_with_a_gap_are_those_without_one():
    with_gap = EmbeddingSet(list("ab"), np.array([1.0, np.nan]), None, np.eye(2))
    without = EmbeddingSet(list("ab"), [1, 2], None, np.eye(2))

    assert with_gap.labels[0] == without.labels[0] == "1"


def test_names_of_any_script_are_kept():
    names = ["漢字", "🙂", "a\u2028b"]
    items = EmbeddingSet(names, [n.encode() for n in names], names, np.eye(3))

    assert items.ids.tolist() == items.labels.tolist() == items.cameras.tolist()
    assert items.ids.tolist() == names


def test_a_memory_map_stays_one(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(3, dtype=np.float32))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")

    assert EmbeddingSet(list("abc"), list("xyz"), None, rows).embeddings is rows


def test_rows_can_be_taken():
    items = EmbeddingSet(list("abc"), list("xyz"), list("123"), np.eye(3))

    assert items.take(np.array([2, 0])).ids.tolist() == ["c", "a"]
    assert items.take(np.array([False, True, False])).cameras.tolist() == ["2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embeddings": np.zeros((0, 3))}, "at least one item"),
        ({"embeddings": np.zeros(3)}, r"shape \(items, components\)"),
        ({"embeddings": np.ones((3, 2), int)}, "floating type.*int64"),
        ({"labels": ["x"]}, r"`labels` should hold one value per embedding, so 3"),
        ({"cameras": ["x"] * 4}, "`cameras`"),
        ({"ids": ["a", "b", "a"]}, "'a' 2 times"),
        ({"embeddings": np.array([[1, 2], [np.nan, 1], [0, 0]])}, "NaN.*'b'"),
        ({"embeddings": np.array([[1, 2], [1, 1], [0, -np.inf]])}, "infinity.*'c'"),
        ({"qualities": [1, -1, 1]}, r"`qualities` .* -1\.0 in row 1"),
        ({"qualities": [1, None, 1]}, "`qualities` .*(missing|nan in row 1)"),
        ({"qualities": [1, np.nan, 1]}, "`qualities` .*nan in row 1"),
        ({"qualities": [1, 1, np.inf]}, "`qualities` .*inf in row 2"),
        ({"qualities": [1, 1]}, r"`qualities` .*shape \(2,\)"),
        ({"ids": ["a", None, "c"]}, "`ids` .*none in row 1"),
        ({"ids": ["a", "b", b"\xff"]}, "`ids` .*row 2"),
        ({"labels": [["x"], ["y"], ["z", "z"]]}, "`labels` .*row 0"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(change, message):
    columns = {
        "ids": list("abc"),
        "labels": list("xyz"),
        "cameras": None,
        "embeddings": np.eye(3),
    }
    with pytest.raises(ValueError, match=message):
        EmbeddingSet(**columns | change)


def test_large_finite_rows_are_not_taken_for_infinite():
    rows = np.full((4, 4), 3e38, np.float32)

    assert len(EmbeddingSet(list("abcd"), list("abcd"), None, rows)) == 4
