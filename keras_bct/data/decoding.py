"""Encoded pictures to one array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bct.data.records import ImageRecords

_DECODED_TOGETHER = 512
_NAMED_IN_ERRORS = 5


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

    def decode(image: tf.Tensor) -> tf.Tensor:
        return tf.io.decode_image(
            image, channels=image_shape[2], expand_animations=False
        )

    def decode_exactly(image: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(decode(image), image_shape)

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
    except tf.errors.InvalidArgumentError:
        # One at a time, to say which.
        bad = []
        for name, image in zip(records.ids, records.images, strict=True):
            try:
                shape = tuple(decode(image).shape)
            except tf.errors.InvalidArgumentError:
                bad.append(f"{name} (not a picture that can be decoded)")
            else:
                if shape != image_shape:
                    bad.append(f"{name} (of shape {shape})")
    raise ValueError(
        "Every picture should be a PNG or JPEG of shape (height, width, channels) = "
        f"{image_shape}. Received {len(bad)} others, by id: "
        f"{'; '.join(bad[:_NAMED_IN_ERRORS])}. Repair, resize or leave them out."
    )
