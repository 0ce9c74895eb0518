"""Pictures of any size and format as a version takes them."""

from __future__ import annotations

import io
from collections.abc import Sequence

from registry.errors import UsageError

Shape = tuple[int | None, int | None, int | None]


def fitted_pictures(
    images: Sequence[bytes], ids: Sequence[str], image_shape: Shape
) -> list[bytes]:
    """Brings pictures to a version's size, as `keras_bct.data.convert --size` does.

    What has that size already, as PNG or JPEG, stays as it is. Anything else is turned
    as its EXIF data say, stretched to the height and width, and made grey or coloured.

    Args:
        images: n encoded pictures.
        ids: n names, for messages.
        image_shape: Height, width and channels, each None where the version takes any.

    Returns:
        n encoded pictures. What is no picture stays as it is: who decodes it says so
        together with the others that are none.

    Raises:
        UsageError: A picture of 32 bits, whose range nothing tells.
    """
    fitted = []
    for image, name in zip(images, ids, strict=True):
        try:
            fitted.append(_fitted(image, image_shape))
        except ValueError as error:
            raise UsageError(
                f"The picture {name!r} cannot be prepared: {error}"
            ) from error
    return fitted


def _fitted(image: bytes, image_shape: Shape) -> bytes:
    from PIL import Image

    from keras_bct.data import Preparation
    from keras_bct.data.picture_file import eight_bits, is_plain, open_picture

    height, width, channels = image_shape
    grey = channels == 1
    try:
        # Only the header is read.
        picture = Image.open(io.BytesIO(image))
        fits = (
            is_plain(picture, grey=grey)
            and height in (None, picture.height)
            and width in (None, picture.width)
        )
    except Exception:
        # Pillow's readers raise whatever their parsing runs into.
        return image
    if fits or channels not in (None, 1, 3):
        return image
    upright = eight_bits(open_picture(image), grey=grey)
    size = (height or upright.height, width or upright.width)
    return Preparation(*size, grey=grey, encoding="png")(image)
