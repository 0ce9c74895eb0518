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
        ({"qualities": [1, -1, 1]}, "`qualities`"),
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
