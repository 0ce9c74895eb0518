import io

import numpy as np
import pytest
from PIL import Image

from keras_bct.data import ImageList, read_image_folder, read_records, write_shards


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
    records = three.read(preparation=None)
    assert records.images == [b"A", b"B", b"C"]
    assert records.media.tolist() == ["m", "n", "n"]


def test_missing_file_is_named_with_its_id(three, tmp_path):
    (tmp_path / "b.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"'b' should be in .*b\.jpg"):
        three.read(preparation=None)


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match=r"equally long.*'labels': 2"):
        ImageList(np.array(["a"]), ["a.jpg"], np.array(["x", "y"]))


def test_one_id_for_two_pictures_is_refused():
    with pytest.raises(ValueError, match=r"`ids`.*'a'"):
        ImageList(np.array(["a", "a"]), ["1", "2"], np.array(["x", "y"]))


def test_read_pictures_are_turned_as_their_exif_data_say(lay_out, picture, decoded):
    exif = Image.Exif()
    exif[274] = 6
    stream = io.BytesIO()
    Image.new("RGB", (8, 4)).save(stream, "JPEG", exif=exif)
    root = lay_out({"x/1.jpg": stream.getvalue(), "x/2.jpg": picture(size=(8, 4))})
    images = read_image_folder(root)
    turned, plain = images.read().images
    assert decoded(turned).shape == (8, 4, 3)
    assert plain == picture(size=(8, 4))
    (file,) = write_shards(root / "out", "train", images)
    assert read_records(file).images == [turned, plain]


def test_picture_that_cannot_be_decoded_is_named_with_its_id(three):
    with pytest.raises(ValueError, match=r"a\.jpg \(id 'a'\): expected a picture"):
        three.read()
