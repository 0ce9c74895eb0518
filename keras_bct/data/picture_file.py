"""A picture's file of any usual format as eight-bit grey or colour, by one rule."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

# Pillow knows many more, some of which run another program on the file (EPS) or are
# seldom tried; whatever a file is called, it is read as one of these or not at all.
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
_ORIENTATION = 274
_BITS_PER_SAMPLE = 258
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_GREY_MODES = ("1", "L", "I;16", "I;16B", "I;16L", "I;16N")


def open_picture(image: bytes) -> Image.Image:
    """Open a picture and read all of it; of an animation the first frame.

    Raises:
        ValueError: bytes that are no picture, or a damaged one.
    """
    try:
        picture: Image.Image = Image.open(io.BytesIO(image), formats=_FORMATS)
        picture.load()
    # Pillow's readers raise whatever their parsing runs into.
    except Exception as error:
        # Its own words are about an object in memory.
        unknown = isinstance(error, UnidentifiedImageError)
        raise ValueError(
            f"expected a picture that can be decoded. Received: {len(image)} bytes"
            f"{' of no known format' if unknown else f', {error}'}"
        ) from error
    return picture


def eight_bits(
    picture: Image.Image, *, grey: bool, upright: bool = True
) -> Image.Image:
    """Turn a picture into mode `L` or `RGB`, as TensorFlow does where it can read it.

    Of 16 bits the upper eight are taken, `v >> 8`. Colours in a palette or in CMYK are
    looked up and converted, one bit becomes 0 or 255. Transparency is left out: what
    is below it shows.

    Args:
        picture: from `open_picture`.
        grey: one channel in place of three.
        upright: turn it as its EXIF data say that it is to be seen.

    Raises:
        ValueError: 32-bit numbers, which no range is agreed for.
    """
    if picture.mode in ("I", "F") and picture.format != "PNG":
        raise ValueError(
            "expected a picture of 1 to 16 bits a channel. Received: one of 32 bits "
            f"({'floats' if picture.mode == 'F' else 'integers'}), whose black and "
            "white nothing tells. Scale it to 16 bits before."
        )
    turn = _TURNS.get(_orientation(picture)) if upright else None
    if picture.mode == "I" or picture.mode.startswith("I;16"):
        picture = Image.fromarray(_upper_bits(picture))
    if picture.mode == "P" and "transparency" in picture.info:
        picture = picture.convert("RGBA")
    picture = picture.convert("L" if grey else "RGB")
    return picture if turn is None else picture.transpose(turn)


def is_plain(picture: Image.Image, *, grey: bool) -> bool:
    """Whether TensorFlow reads the same in a file that `open_picture` has opened.

    Args:
        picture: from `open_picture`.
        grey: whether one channel is wanted.
    """
    if _orientation(picture) in _TURNS:
        return False
    if picture.format == "PNG":
        return not grey or picture.mode in _GREY_MODES
    return picture.format in ("JPEG", "MPO") and (
        picture.mode == "L" or (picture.mode == "RGB" and not grey)
    )


def encode(picture: Image.Image, encoding: str, quality: int) -> bytes:
    """Write a picture of mode `L` or `RGB` as `jpeg` or `png`."""
    stream = io.BytesIO()
    if encoding == "jpeg":
        picture.save(stream, "JPEG", quality=quality, subsampling=0)
    else:
        picture.save(stream, "PNG")
    return stream.getvalue()


def check_encoding(encoding: str, quality: int) -> None:
    """Refuse what `encode` cannot write.

    Raises:
        ValueError: another encoding than `jpeg` and `png`, or a quality of JPEG that is
            not from 1 to 95.
    """
    if encoding not in ("jpeg", "png"):
        raise ValueError(f"`encoding` should be jpeg or png. Received: {encoding!r}")
    if not 1 <= quality <= 95:
        raise ValueError(f"`quality` should be from 1 to 95. Received: {quality}")


def _upper_bits(picture: Image.Image) -> npt.NDArray[np.uint8]:
    values, bits = np.asarray(picture), 16
    if isinstance(picture, TiffImageFile):
        bits = picture.tag_v2.get(_BITS_PER_SAMPLE, (bits,))[0]
        # Pillow inverts these only where they have eight bits.
        if picture.tag_v2.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
            values = (1 << bits) - 1 - values
    return (values >> (bits - 8)).astype(np.uint8)


def _orientation(picture: Image.Image) -> int:
    try:
        return int(picture.getexif().get(_ORIENTATION, 1))
    # EXIF data are often broken; the picture is then seen as it lies.
    except Exception:
        return 1
