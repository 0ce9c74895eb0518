import io

import numpy as np
import pytest
from PIL import Image

from keras_bct.data import ImageRecords, decode_pictures, write_records
from keras_bct.data.record_index import RecordIndex


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


NOISE = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
RIGHT = {
    "PNG": encoded(NOISE),
    "JPEG": encoded(NOISE, "JPEG"),
    "grey PNG": encoded(NOISE[..., 0]),
    "PNG with transparency": encoded(np.dstack([NOISE, NOISE[..., 0]])),
}
WRONG = {
    "of another size": encoded(NOISE[:8]),
    "empty": b"",
    "no picture": b"junk",
    "PNG cut short": RIGHT["PNG"][:-40],
    "PNG without its last bytes": RIGHT["PNG"][:-14],
    "damaged PNG": RIGHT["PNG"][:200] + b"????" + RIGHT["PNG"][204:],
    "JPEG cut short": RIGHT["JPEG"][: len(RIGHT["JPEG"]) // 2],
    "JPEG of which the header is left": RIGHT["JPEG"][:200],
    "GIF": encoded(NOISE[..., 0], "GIF"),
    "BMP": encoded(NOISE, "BMP"),
    "TIFF": encoded(NOISE, "TIFF"),
    "WEBP": encoded(NOISE, "WEBP"),
}


def named(take):
    """The ids that an error names, or none where all is taken."""
    try:
        take()
    except ValueError as error:
        return error.args[0].split("by id: ")[1].split(" (")[0]
    return None


@pytest.mark.parametrize("kind", [*RIGHT, *WRONG])
def test_memory_and_disk_refuse_the_same_pictures_by_id(tmp_path, kind):
    first, image = encoded(NOISE), (RIGHT | WRONG)[kind]
    written = records(first, image, first)
    write_records(tmp_path / "a.tfrecord", written)
    in_memory = named(lambda: decode_pictures(written, (16, 16, 3)))
    on_disk = named(
        lambda: RecordIndex.scan(tmp_path / "a.tfrecord", image_shape=(16, 16, 3))
    )
    assert in_memory == on_disk == (None if kind in RIGHT else "picture-1")


def test_four_colours_are_decoded_to_three_channels_and_refused_for_one():
    stream = io.BytesIO()
    Image.new("CMYK", (8, 8), (55, 155, 255, 0)).save(stream, "JPEG", quality=100)
    colours = decode_pictures(records(stream.getvalue()), (8, 8, 3))
    np.testing.assert_allclose(colours[0, 0, 0], (200, 100, 0), atol=3)
    with pytest.raises(ValueError, match=r"picture-0 \(.*: JPEG in CMYK\)"):
        decode_pictures(records(stream.getvalue()), (8, 8, 1))


def test_what_another_format_is_called_is_said():
    with pytest.raises(ValueError, match=r"picture-0 \(.*: WEBP in RGB\)"):
        decode_pictures(records(WRONG["WEBP"]), (16, 16, 3))
