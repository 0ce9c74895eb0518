"""Encoded pictures to pixels: what training and embedding take and refuse."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from PIL import Image

from keras_bct.counted import counted
from keras_bct.data.records import ImageRecords

_DECODED_TOGETHER = 512
_NAMED_IN_ERRORS = 5
# What a PNG and a JPEG begin with. TensorFlow reads others too, but not in all of its
# versions, nor as one channel; of BMP it takes the numbers in a palette for colours.
_FORMATS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")

ImageShape = tuple[int | None, int | None, int | None]
"""Height, width and channels, each None where any will do."""


def decode(image: tf.Tensor, channels: int) -> tf.Tensor:
    """Decode one PNG or JPEG, inside a TensorFlow graph or outside.

    Args:
        image: its bytes.
        channels: 1 or 3; grey and colour are turned into each other. 0: its own.

    Returns:
        uint8, shape (height, width, channels); of 16 bits the upper eight.

    Raises:
        tf.errors.InvalidArgumentError: another format, or bytes that are damaged.
    """
    known = [
        tf.equal(tf.strings.substr(image, 0, len(start)), start) for start in _FORMATS
    ]
    with tf.control_dependencies(
        [tf.debugging.Assert(tf.reduce_any(known), ["This is no PNG and no JPEG."])]
    ):
        return tf.io.decode_image(image, channels=channels, expand_animations=False)


def is_png_or_jpeg(image: bytes) -> bool:
    """Tell by a picture's first bytes whether `decode` takes its format."""
    return image.startswith(_FORMATS)


def decode_pictures(
    records: ImageRecords, image_shape: tuple[int, int, int]
) -> npt.NDArray[np.uint8]:
    """Decode PNG or JPEG pictures that are all of one size.

    Args:
        records: n pictures.
        image_shape: height, width and channels; grey and colour pictures are turned
            into each other as the channels ask.

    Returns:
        uint8, shape (n, height, width, channels).

    Raises:
        ValueError: bytes that are no picture, or one of another size; the message
            names them by id.
    """

    def decode_exactly(image: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(decode(image, image_shape[2]), image_shape)

    pictures = np.empty((len(records), *image_shape), np.uint8)
    start = 0
    try:
        for batch in (
            tf.data.Dataset.from_tensor_slices(records.images)
            .map(decode_exactly, num_parallel_calls=tf.data.AUTOTUNE)
            .batch(_DECODED_TOGETHER)
        ):
            pictures[start : start + len(batch)] = batch
            start += len(batch)
        return pictures
    except tf.errors.OpError as error:
        wrong = wrong_pictures(records.ids, records.images, image_shape)
        raise refusal(wrong, image_shape) from error


def wrong_pictures(
    ids: Iterable[str], images: Sequence[bytes], image_shape: ImageShape
) -> list[str]:
    """Say by id which pictures cannot be taken, and why.

    Every picture is decoded, on all cores: nothing less tells whether one is whole.

    Args:
        ids: n names.
        images: n encoded pictures.
        image_shape: what each should have.
    """
    if not len(images):
        return []
    shapes = _shapes(images, image_shape[2] or 0)
    if shapes is not None and all(_fits(shape, image_shape) for shape in shapes):
        return []
    # One at a time, to say which.
    return [
        f"{name} ({complaint})"
        for name, image in zip(ids, images, strict=True)
        if (complaint := _complaint(image, image_shape))
    ]


def refusal(wrong: Sequence[str], image_shape: ImageShape) -> ValueError:
    """Make the error of what `wrong_pictures` found."""
    return ValueError(
        "Every picture should be a PNG or JPEG of shape (height, width, channels) = "
        f"{image_shape}. Received {counted(len(wrong), 'other')}, by id: "
        f"{'; '.join(wrong[:_NAMED_IN_ERRORS])}. Leave them out, or bring them to this "
        "size and format (keras_bct.data.Preparation)."
    )


def _shapes(images: Sequence[bytes], channels: int) -> set[tuple[int, ...]] | None:
    """Return what shapes the decoded pictures have, or None if one is no picture."""

    def shape(image: tf.Tensor) -> tf.Tensor:
        return tf.shape(decode(image, channels))

    shapes: set[tuple[int, ...]] = set()
    try:
        for batch in (
            tf.data.Dataset.from_tensor_slices(list(images))
            .map(shape, num_parallel_calls=tf.data.AUTOTUNE)
            .batch(_DECODED_TOGETHER)
        ):
            shapes.update(map(tuple, np.unique(batch, axis=0).tolist()))
    except tf.errors.OpError:
        return None
    return shapes


def _complaint(image: bytes, image_shape: ImageShape) -> str:
    """Say what is wrong with a picture; nothing if it is right."""
    try:
        shape = tuple(decode(image, image_shape[2] or 0).shape)
    except tf.errors.OpError:
        return f"not a picture that can be decoded{_kind(image)}"
    return "" if _fits(shape, image_shape) else f"of shape {shape}"


def _kind(image: bytes) -> str:
    """Say what a file's first bytes promise."""
    try:
        opened = Image.open(io.BytesIO(image))
    # Pillow's readers raise whatever their parsing runs into.
    except Exception:
        return ""
    return f": {opened.format} in {opened.mode}"


def _fits(shape: tuple[int, ...], image_shape: ImageShape) -> bool:
    return all(
        wanted in (None, given)
        for wanted, given in zip(image_shape, shape, strict=True)
    )
