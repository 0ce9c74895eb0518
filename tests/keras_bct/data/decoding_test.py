import io

import numpy as np
import pytest
from PIL import Image

from keras_bct.data import ImageRecords, decode_pictures


def encoded(pixels, kind="PNG"):
    stream = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(stream, kind)
    return stream.getvalue()


def records(*images):
    names = np.array([f"picture-{n}" for n in range(len(images))])
    return ImageRecords(names, list(images), names)


def test_png_is_decoded_to_its_pixels():
    pixels = [[0, 255], [17, 34], [1, 2]]
    decoded = decode_pictures(records(encoded(pixels)), (3, 2, 1))
    assert decoded.dtype == np.uint8
    np.testing.assert_array_equal(decoded[0, ..., 0], pixels)


def test_jpeg_is_decoded():
    decoded = decode_pictures(records(encoded(np.full((8, 8), 100), "JPEG")), (8, 8, 1))
    np.testing.assert_allclose(decoded, 100, atol=2)


def test_grey_becomes_colour_when_three_channels_are_asked_for():
    decoded = decode_pictures(records(encoded([[7, 8]])), (1, 2, 3))
    assert decoded.tolist() == [[[[7, 7, 7], [8, 8, 8]]]]


def test_unreadable_bytes_are_named_by_id():
    good = encoded(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"Received 2 others.*picture-1 .*picture-2 "):
        decode_pictures(records(good, b"junk", good[:40], good), (2, 2, 1))


def test_picture_of_another_size_is_named_by_id():
    right, wrong = encoded(np.zeros((2, 2))), encoded(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"picture-1 \(of shape \(3, 2, 1\)\)"):
        decode_pictures(records(right, wrong), (2, 2, 1))
