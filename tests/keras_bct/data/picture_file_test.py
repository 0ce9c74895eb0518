import io
import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_bct.data import OwnSize, Preparation
from keras_bct.data.decoding import decode
from keras_bct.data.picture_file import open_picture

RAMP = np.array([0, 1, 255, 256, 257, 511, 512, 32768, 65279, 65280, 65535])
UPPER = [0, 0, 0, 1, 1, 1, 2, 128, 254, 255, 255]
"""RAMP without its lower eight bits."""


def sixteen_bit_png(pixels):
    """A PNG of (height, width, channels) whole numbers, by the format's definition."""
    pixels = np.asarray(pixels, ">u2")
    height, width, channels = pixels.shape
    colour_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))
    chunks = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def tiff(pixels, dtype, *, photometric=1):
    """A TIFF of (height, width, channels), by the format's definition."""
    pixels = np.asarray(pixels).astype(dtype)
    height, width, channels = pixels.shape
    order, data = dtype[0], pixels.tobytes() + b"\0" * (pixels.nbytes % 2)
    # 8 bytes of header, the pixels, and the one value that has no room in its tag.
    bits, kind = 8 * pixels.itemsize, {"u": 1, "i": 2, "f": 3}[dtype[1]]
    tags = {256: width, 257: height, 258: bits, 259: 1, 262: photometric, 273: 8}
    tags |= {277: channels, 278: height, 279: pixels.nbytes, 339: kind}
    directory = struct.pack(order + "H", len(tags))
    beyond = 8 + len(data) + 2 + 12 * len(tags) + 4
    for tag, value in sorted(tags.items()):
        if tag in (258, 339) and channels == 3:
            directory += struct.pack(order + "HHII", tag, 3, 3, beyond)
            beyond += 6
        elif tag in (273, 279):
            directory += struct.pack(order + "HHII", tag, 4, 1, value)
        else:
            directory += struct.pack(order + "HHIHH", tag, 3, 1, value, 0)
    directory += struct.pack(order + "I", 0)
    directory += struct.pack(order + "6H", *[bits] * 3, *[kind] * 3)
    magic = b"II" if order == "<" else b"MM"
    return magic + struct.pack(order + "HI", 42, 8 + len(data)) + data + directory


def saved(picture, kind, **options):
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def in_its_size(image, *, grey):
    """The pixels that training sees of a file that keeps its size."""
    record = OwnSize(grey=grey, encoding="png")(image)
    return decode(record, 1 if grey else 3).numpy()


def with_a_size(image, *, grey):
    """The pixels that training sees of a file that is brought to (1, 11)."""
    record = Preparation(1, 11, grey=grey, encoding="png")(image)
    return decode(record, 1 if grey else 3).numpy()


ROW = RAMP[None, :, None]
GREY_16 = {
    "PNG": sixteen_bit_png(ROW),
    "PNG with transparency": sixteen_bit_png(np.concatenate([ROW, ROW // 2], -1)),
    "PNG in colour": sixteen_bit_png(np.repeat(ROW, 3, -1)),
    "PNG in colour with transparency": sixteen_bit_png(np.repeat(ROW, 4, -1)),
    "TIFF": tiff(ROW, "<u2"),
    "TIFF, big-endian": tiff(ROW, ">u2"),
    "TIFF, white is zero": tiff(65535 - ROW, "<u2", photometric=0),
    "TIFF in colour": tiff(np.repeat(ROW, 3, -1), "<u2", photometric=2),
    "TIFF in colour, big-endian": tiff(np.repeat(ROW, 3, -1), ">u2", photometric=2),
}


@pytest.mark.parametrize("kind", GREY_16)
@pytest.mark.parametrize("read", [in_its_size, with_a_size])
@pytest.mark.parametrize("grey", [True, False])
def test_of_sixteen_bits_the_upper_eight_are_seen(kind, read, grey):
    pixels = read(GREY_16[kind], grey=grey)
    assert pixels.shape == (1, 11, 1 if grey else 3)
    for channel in np.moveaxis(pixels[0], -1, 0):
        assert channel.tolist() == UPPER


def test_of_twelve_bits_the_upper_eight_are_seen():
    # Two values in three bytes: 0x123 and 0xFFF.
    image = bytearray(tiff(np.zeros((1, 2, 1)), "<u2"))
    image[8:12] = b"\x12\x3f\xff\0"
    bits = image.index(b"\x02\x01\x03\0\x01\0\0\0\x10")
    image[bits + 8] = 12
    assert in_its_size(bytes(image), grey=True).ravel().tolist() == [0x12, 0xFF]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i4", ">i4", "<u4", "<i2"])
@pytest.mark.parametrize("preparation", [OwnSize(), Preparation(4, 4)])
def test_numbers_without_an_agreed_range_are_refused(dtype, preparation):
    with pytest.raises(ValueError, match="1 to 16 bits a channel"):
        preparation(tiff(ROW // 4, dtype))


PALETTE = Image.new("P", (11, 1))
PALETTE.putpalette([10, 20, 30, 200, 100, 0])
PALETTE.putpixel((1, 0), 1)
INK = np.array([[[200, 100, 0], *[[10, 20, 30]] * 10]], np.uint8)
COLOURS = {
    "palette": (saved(PALETTE, "PNG"), [[10, 20, 30], [200, 100, 0]]),
    "palette with transparency": (
        saved(PALETTE, "PNG", transparency=1),
        [[10, 20, 30], [200, 100, 0]],
    ),
    "BMP with a palette": (saved(PALETTE, "BMP"), [[10, 20, 30], [200, 100, 0]]),
    "RGBA": (
        saved(Image.fromarray(np.concatenate([INK, 0 * INK[..., :1]], -1)), "PNG"),
        [[200, 100, 0], [10, 20, 30]],
    ),
    "LA": (
        saved(Image.fromarray(np.uint8([[[200, 0], *[[9, 255]] * 10]])), "PNG"),
        [[200] * 3, [9] * 3],
    ),
    "one bit": (
        saved(Image.fromarray(np.arange(11)[None] % 2 == 1), "PNG"),
        [[0] * 3, [255] * 3],
    ),
    "CMYK": (
        saved(Image.new("CMYK", (11, 1), (55, 155, 255, 0)), "TIFF"),
        [[200, 100, 0]] * 2,
    ),
}


@pytest.mark.parametrize("kind", COLOURS)
@pytest.mark.parametrize("read", [in_its_size, with_a_size])
def test_colours_are_those_without_transparency(kind, read):
    image, expected = COLOURS[kind]
    pixels = read(image, grey=False)
    assert pixels[0, :2].tolist() == expected
    # ITU-R 601-2; the readers round the last step in two ways.
    luma = np.array(expected) @ [0.299, 0.587, 0.114]
    grey = read(image, grey=True)
    np.testing.assert_allclose(grey[0, :2, 0], luma, atol=1)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("read", [in_its_size, with_a_size])
def test_of_an_animation_the_first_frame_is_seen(kind, read):
    frames = [Image.new("L", (11, 1), value) for value in (40, 200, 90)]
    options = {"lossless": True} if kind == "WEBP" else {}
    image = saved(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    assert (read(image, grey=True) == 40).all()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("resized", [False, True])
@pytest.mark.parametrize(
    ("orientation", "turn"),
    [
        (1, lambda p: p),
        (2, np.fliplr),
        (3, lambda p: np.rot90(p, 2)),
        (4, np.flipud),
        (5, lambda p: p.T),
        (6, lambda p: np.rot90(p, -1)),
        (7, lambda p: np.rot90(p, 2).T),
        (8, np.rot90),
    ],
)
def test_picture_is_turned_as_its_exif_data_say(kind, resized, orientation, turn):
    lying = np.zeros((16, 8), np.uint8)
    lying[:8, :4] = 80
    lying[8:, 4:] = 240
    exif = Image.Exif()
    exif[274] = orientation
    options = {"JPEG": {"quality": 100}, "WEBP": {"lossless": True}}.get(kind, {})
    image = saved(Image.fromarray(lying), kind, exif=exif, **options)
    seen = turn(lying)
    options = {"grey": True, "encoding": "png"}
    prepare = Preparation(*seen.shape, **options) if resized else OwnSize(**options)
    pixels = decode(prepare(image), 1).numpy()[..., 0]
    np.testing.assert_allclose(pixels, seen, atol=20)


@pytest.mark.parametrize("prepare", [Preparation(16, 8), OwnSize(grey=True)])
def test_boxes_and_landmarks_are_of_the_picture_as_it_lies(prepare):
    exif = Image.Exif()
    exif[274] = 3
    lying = np.zeros((16, 8), np.uint8)
    lying[:8] = 240
    image = saved(Image.fromarray(lying), "JPEG", exif=exif, quality=100)
    box = np.array([0, 0, 8, 16], np.float32)
    pixels = decode(prepare(image, box=box), 1).numpy()[..., 0]
    np.testing.assert_allclose(pixels, lying, atol=20)


def test_broken_exif_data_turn_nothing():
    image = saved(Image.new("L", (8, 4), 90), "JPEG", exif=b"Exif\0\0II*\0\xff\xff")
    pixels = decode(OwnSize()(image), 1)
    assert pixels.shape == (4, 8, 1)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_bytes_in_which_tensorflow_reads_the_same_are_kept(kind):
    for mode in ("L", "RGB"):
        image = saved(Image.new(mode, (8, 4)), kind)
        assert OwnSize()(image) == image
    assert OwnSize(grey=True)(saved(Image.new("RGB", (8, 4)), kind)) != image


@pytest.mark.parametrize("kind", ["GIF", "BMP", "WEBP", "TIFF"])
def test_other_formats_become_those_that_tensorflow_reads(kind):
    image = saved(Image.new("RGB", (8, 4), (90, 60, 30)), kind)
    pixels = tf.io.decode_image(OwnSize()(image), channels=3).numpy()
    np.testing.assert_allclose(pixels[0, 0], (90, 60, 30), atol=3)


@pytest.mark.parametrize("prepare", [Preparation(4, 4), OwnSize()])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF"])
def test_damaged_pictures_are_refused(prepare, kind):
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    image = saved(Image.fromarray(noise), kind)
    with pytest.raises(ValueError, match="expected a picture that can be decoded"):
        prepare(image[: len(image) // 2])


@pytest.mark.parametrize(
    "options", [{"encoding": "gif"}, {"quality": 0}, {"quality": 100}]
)
def test_own_size_refuses_what_it_cannot_write(options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}`"):
        OwnSize(**options)


@pytest.mark.parametrize("kind", ["EPS", "PCX", "PPM", "TGA"])
def test_formats_that_nobody_asked_for_are_not_even_tried(kind, tmp_path, monkeypatch):
    """Pillow hands an EPS file to Ghostscript, which runs it as a program."""
    file = io.BytesIO()
    Image.new("RGB", (4, 4)).save(file, kind)
    started = []
    monkeypatch.setattr("subprocess.check_call", started.append)

    with pytest.raises(ValueError, match="a picture that can be decoded"):
        open_picture(file.getvalue())
    assert started == []
