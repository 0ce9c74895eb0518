import numpy as np
import pytest

from keras_bct.data import ImageList


@pytest.fixture
def three(lay_out):
    root = lay_out({"a.jpg": b"A", "b.jpg": b"B", "c.jpg": b"C"})
    return ImageList(
        ids=np.array(["a", "b", "c"]),
        paths=[root / f"{name}.jpg" for name in "abc"],
        labels=np.array(["x", "y", "x"]),
        cameras=np.array(["1", "1", "2"]),
        media=np.array(["m", "n", "n"]),
        boxes=np.arange(12, dtype=np.float32).reshape(3, 4),
    )


def test_taken_rows_keep_all_that_is_known(three):
    taken = three.take(np.array([2, 0]))
    assert taken.ids.tolist() == ["c", "a"]
    assert taken.cameras.tolist() == ["2", "1"]
    assert taken.boxes[:, 0].tolist() == [8, 0]
    assert taken.templates is None


def test_pictures_of_an_old_models_classes(three):
    assert three.of_classes(["x"]).ids.tolist() == ["a", "c"]
    with pytest.raises(ValueError, match="'z'"):
        three.of_classes(["x", "z"])


def test_read_pictures_are_records(three):
    records = three.read()
    assert records.images == [b"A", b"B", b"C"]
    assert records.media.tolist() == ["m", "n", "n"]


def test_missing_file_is_named_with_its_id(three, tmp_path):
    (tmp_path / "b.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"'b' should be in .*b\.jpg"):
        three.read()


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match=r"equally long.*'labels': 2"):
        ImageList(np.array(["a"]), ["a.jpg"], np.array(["x", "y"]))


def test_one_id_for_two_pictures_is_refused():
    with pytest.raises(ValueError, match=r"`ids`.*'a'"):
        ImageList(np.array(["a", "a"]), ["1", "2"], np.array(["x", "y"]))
