"""A picture of any format, in its own size, to one that TensorFlow reads."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from keras_bct.data.picture_file import (
    check_encoding,
    eight_bits,
    encode,
    is_plain,
    open_picture,
)


@dataclasses.dataclass(frozen=True)
class OwnSize:
    """How a file's picture becomes a record of the same size.

    A PNG or JPEG in which TensorFlow reads the same keeps its bytes. Any other file is
    encoded anew: another format, four colours, one that is to be turned as its EXIF
    data say (but where a box or landmarks are of the picture as it lies).

    Attributes:
        grey: one channel in place of three.
        encoding: `jpeg` or `png`, for what is encoded anew.
        quality: of JPEG, 1 to 95.

    Raises:
        ValueError: a value is out of its range.
    """

    grey: bool = False
    encoding: str = "jpeg"
    quality: int = 95

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_encoding(self.encoding, self.quality)

    def __call__(
        self,
        image: bytes,
        *,
        box: npt.NDArray[np.float32] | None = None,
        landmarks: npt.NDArray[np.float32] | None = None,
    ) -> bytes:
        """Prepare one picture.

        Args:
            image: as for `Preparation`.
            box: left, top, width and height in pixels, or None.
            landmarks: float, shape (5, 2), or None.

        Returns:
            The bytes as they are, or the picture encoded anew.

        Raises:
            ValueError: bytes that are no picture, or pixels of 32 bits.
        """
        picture = open_picture(image)
        if is_plain(picture, grey=self.grey):
            return image
        upright = box is None and landmarks is None
        pixels = eight_bits(picture, grey=self.grey, upright=upright)
        return encode(pixels, self.encoding, self.quality)
