"""Changed copies keep who they are of, and come out the same each time."""

import io

import numpy as np
import pytest
from PIL import Image

from keras_bct.data import ImageRecords
from keras_bct.experiments.fastfill.changed_copies import with_changed_copies

SHAPE = (12, 12, 1)


@pytest.fixture
def records():
    rng = np.random.default_rng(0)
    images = []
    for _ in range(3):
        buffer = io.BytesIO()
        pixels = rng.integers(0, 256, SHAPE[:2], dtype=np.uint8)
        Image.fromarray(pixels).save(buffer, "PNG")
        images.append(buffer.getvalue())
    return ImageRecords(
        np.array(["a1", "a2", "b1"]),
        images,
        np.array(["a", "a", "b"]),
        np.array(["serif", "brush", "serif"]),
    )


def pixels(image):
    return np.asarray(Image.open(io.BytesIO(image))).astype(int)


def test_pictures_come_first_as_they_are_and_copies_keep_class_and_camera(records):
    both = with_changed_copies(records, SHAPE, copies=2)
    assert both.images[:3] == records.images
    assert both.ids.tolist() == "a1 a2 b1 a1#1 a2#1 b1#1 a1#2 a2#2 b1#2".split()
    assert both.labels.tolist() == ["a", "a", "b"] * 3
    assert both.cameras.tolist() == ["serif", "brush", "serif"] * 3


def test_each_copy_differs_from_its_picture_and_from_the_other_copy(records):
    images = with_changed_copies(records, SHAPE, copies=2).images
    for row in range(3):
        picture, one, other = (pixels(images[row + 3 * copy]) for copy in range(3))
        assert one.shape == other.shape == SHAPE[:2]
        assert np.abs(one - picture).mean() > 1
        assert np.abs(one - other).mean() > 1


def test_same_seed_same_copies(records):
    first = with_changed_copies(records, SHAPE, seed=1)
    assert with_changed_copies(records, SHAPE, seed=1).images == first.images
    assert with_changed_copies(records, SHAPE, seed=2).images != first.images


def test_without_cameras_there_are_none(records):
    unknown = ImageRecords(records.ids, records.images, records.labels)
    assert with_changed_copies(unknown, SHAPE).cameras is None


def test_a_picture_of_another_shape_is_refused(records):
    with pytest.raises(ValueError, match="a1"):
        with_changed_copies(records, (10, 10, 1))
