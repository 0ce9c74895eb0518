"""A picture of any size and format to one of the size that a network takes."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from PIL import Image

from keras_bct.data.picture_file import (
    check_encoding,
    eight_bits,
    encode,
    open_picture,
)

Floats = npt.NDArray[np.float64]

# Where an aligned face of 112 x 112 has its eyes, nose and corners of the mouth: the
# places that ArcFace and the models after it are trained with.
_FACE = np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ]
)
_FACE_SIDE = 112.0


@dataclasses.dataclass(frozen=True)
class Preparation:
    """How a file's picture becomes a training or test picture.

    A picture with landmarks is turned so that the face stands as ArcFace has it
    (where `align` is true); one with a box is cropped to it. Any other is used whole,
    and turned as its EXIF data say: boxes and landmarks are of the picture as it lies.

    Attributes:
        height: of the result, in pixels.
        width: of the result, in pixels.
        shorter_side: for whole pictures: bring the shorter side to this length and
            take the centre. None: the picture is stretched to height and width.
        box_margin: for boxes: add this share of the box's sides, half of it on
            either side, then widen it to the result's shape. What lies beyond the
            picture is black.
        align: whether landmarks are used.
        grey: one channel in place of three.
        encoding: `jpeg` or `png`.
        quality: of JPEG, 1 to 95.

    Raises:
        ValueError: a value is out of its range.
    """

    height: int
    width: int
    shorter_side: int | None = None
    box_margin: float = 0.0
    align: bool = True
    grey: bool = False
    encoding: str = "jpeg"
    quality: int = 95

    def __post_init__(self) -> None:
        """Check the ranges."""
        if min(self.height, self.width) < 1:
            raise ValueError(
                "`height` and `width` should be at least 1. Received: "
                f"{self.height} and {self.width}"
            )
        if self.shorter_side is not None and self.shorter_side < max(
            self.height, self.width
        ):
            raise ValueError(
                "`shorter_side` should be at least `height` and `width`, which are "
                f"cut out of it. Received: {self.shorter_side}, with {self.height} "
                f"and {self.width}"
            )
        if self.box_margin < 0:
            raise ValueError(
                f"`box_margin` should not be negative. Received: {self.box_margin}"
            )
        check_encoding(self.encoding, self.quality)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the result."""
        return self.height, self.width, 1 if self.grey else 3

    def __call__(
        self,
        image: bytes,
        *,
        box: npt.NDArray[np.float32] | None = None,
        landmarks: npt.NDArray[np.float32] | None = None,
    ) -> bytes:
        """Prepare one picture.

        Args:
            image: a file of any format that Pillow reads, of an animation the first
                frame; for its colours see `eight_bits`.
            box: left, top, width and height in pixels, or None.
            landmarks: float, shape (5, 2), or None; see `ImageList`.

        Returns:
            The encoded result.

        Raises:
            ValueError: bytes that are no picture, pixels of 32 bits, an empty box, or
                landmarks that all lie in one place.
        """
        whole = box is None and landmarks is None
        picture = eight_bits(open_picture(image), grey=self.grey, upright=whole)
        if landmarks is not None and self.align:
            picture = self._aligned(picture, np.asarray(landmarks, np.float64))
        elif box is not None:
            picture = self._cropped(picture, np.asarray(box, np.float64))
        elif self.shorter_side is not None:
            picture = self._centre(picture, self.shorter_side)
        else:
            picture = self._resize(picture)
        return encode(picture, self.encoding, self.quality)

    def _resize(
        self, picture: Image.Image, box: tuple[float, float, float, float] | None = None
    ) -> Image.Image:
        return picture.resize(
            (self.width, self.height), Image.Resampling.BILINEAR, box=box
        )

    def _centre(self, picture: Image.Image, shorter_side: int) -> Image.Image:
        # In one resampling: the part of the original that the centre shows.
        scale = min(picture.size) / shorter_side
        width, height = self.width * scale, self.height * scale
        left = (picture.width - width) / 2
        top = (picture.height - height) / 2
        return self._resize(
            picture,
            (
                max(left, 0.0),
                max(top, 0.0),
                min(left + width, picture.width),
                min(top + height, picture.height),
            ),
        )

    def _cropped(self, picture: Image.Image, box: Floats) -> Image.Image:
        left, top, width, height = box.tolist()
        if not (width > 0 and height > 0):
            raise ValueError(
                "expected a box of positive width and height. Received: "
                f"{width} and {height}"
            )
        centre_x, centre_y = left + width / 2, top + height / 2
        width, height = width * (1 + self.box_margin), height * (1 + self.box_margin)
        shape = self.width / self.height
        width, height = max(width, height * shape), max(height, width / shape)
        return self._resize(
            picture.crop(
                (
                    round(centre_x - width / 2),
                    round(centre_y - height / 2),
                    max(round(centre_x + width / 2), round(centre_x - width / 2) + 1),
                    max(round(centre_y + height / 2), round(centre_y - height / 2) + 1),
                )
            )
        )

    def _aligned(self, picture: Image.Image, landmarks: Floats) -> Image.Image:
        scale = min(self.height, self.width) / _FACE_SIDE
        offset = np.array([self.width, self.height]) - _FACE_SIDE * scale
        forth = similarity(_FACE * scale + offset / 2, landmarks)
        # Pillow takes the centre of the first pixel for (0.5, 0.5), as cameras do;
        # landmarks take it for (0, 0).
        half = np.array([0.5, 0.5])
        shift = forth[:, 2] + half - forth[:, :2] @ half
        return picture.transform(
            (self.width, self.height),
            Image.Transform.AFFINE,
            (*forth[0, :2], shift[0], *forth[1, :2], shift[1]),
            resample=Image.Resampling.BICUBIC,
        )


def similarity(source: Floats, target: Floats) -> Floats:
    """Return the turn, scale and shift that bring points nearest to others.

    Umeyama, *Least-squares estimation of transformation parameters between two point
    patterns*, TPAMI 1991, Eq. 40 to 42, in two dimensions and without mirroring.

    Args:
        source: (n, 2).
        target: (n, 2).

    Returns:
        (2, 3): `target` is about `source @ M[:, :2].T + M[:, 2]`.

    Raises:
        ValueError: points that all lie in one place.

    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> similarity(square, 2 * square + [3, 4]).round(6)
    array([[ 2., -0.,  3.],
           [ 0.,  2.,  4.]])
    """
    source_mean, target_mean = source.mean(axis=0), target.mean(axis=0)
    # In the plane, turning and scaling is one complex factor.
    first = (source - source_mean) @ np.array([1, 1j])
    second = (target - target_mean) @ np.array([1, 1j])
    spread = float(np.sum(np.abs(first) ** 2))
    factor = np.sum(second * first.conj()) / spread if spread else 0.0
    if not factor:
        raise ValueError(
            "expected landmarks in different places. Received: "
            f"{target.round(1).tolist()}"
        )
    turn = np.array([[factor.real, -factor.imag], [factor.imag, factor.real]])
    return np.column_stack([turn, target_mean - turn @ source_mean])
