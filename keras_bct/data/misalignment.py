"""Mis-aligned faces: a detector never puts one exactly where the aligned ones have it.

Random shift, rotation and scale stand for its errors (BCT, section 3.2).
"""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_bct.data.random_change import RandomChange, in_range


@keras.saving.register_keras_serializable(package="keras_bct")
class Misalignment(RandomChange):
    """Shift, turn and scale every picture a little, each by draws of its own.

    What moves in from beyond the edge repeats the edge's pixels. One bilinear
    resampling does all three; it runs under XLA.

    Args:
        shift: up to this share of the side, along each axis.
        rotation: up to this angle to either side, in degrees.
        scale: size times `1 - scale` to `1 + scale`.
        seed: of the layer's own draws.
        **kwargs: of `keras.layers.Layer`.

    Raises:
        ValueError: a share outside 0..1 or an angle outside 0..180.

    Example:
        >>> import numpy as np
        >>> faces = np.full((2, 112, 112, 3), 128.0, "float32")
        >>> Misalignment(seed=0)(faces, training=True).shape
        TensorShape([2, 112, 112, 3])
    """

    draws = 4
    amounts = ("shift", "rotation", "scale")

    def __init__(
        self,
        *,
        shift: float = 0.04,
        rotation: float = 5.0,
        scale: float = 0.08,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.shift = in_range("shift", shift, 1.0)
        self.rotation = in_range("rotation", rotation, 180.0)
        self.scale = in_range("scale", scale, 1.0)

    def change(self, images: Any, draws: Any) -> Any:
        """Shift, turn and scale; see the base class."""
        batch, channels = ops.shape(images)[0], images.shape[-1]
        height, width = ops.shape(images)[1], ops.shape(images)[2]
        zoom = 1.0 + self.scale * draws[0]
        angle = (self.rotation * math.pi / 180.0) * draws[1]
        cosine, sine = ops.cos(angle) / zoom, ops.sin(angle) / zoom
        last_x = ops.cast(width, "float32") - 1.0
        last_y = ops.cast(height, "float32") - 1.0
        shift_x = (self.shift * (last_x + 1.0)) * draws[2]
        shift_y = (self.shift * (last_y + 1.0)) * draws[3]
        # From where each pixel of the result comes, seen from the centre.
        to_x = ops.cast(ops.arange(width), "float32")[None, None, :] - last_x / 2
        to_y = ops.cast(ops.arange(height), "float32")[None, :, None] - last_y / 2
        to_x = to_x - shift_x[:, None, None]
        to_y = to_y - shift_y[:, None, None]
        cosine, sine = cosine[:, None, None], sine[:, None, None]
        x = ops.clip(cosine * to_x + sine * to_y + last_x / 2, 0.0, last_x)
        y = ops.clip(cosine * to_y - sine * to_x + last_y / 2, 0.0, last_y)
        left, top = ops.floor(x), ops.floor(y)
        right, bottom = ops.minimum(left + 1.0, last_x), ops.minimum(top + 1.0, last_y)
        of_right, of_bottom = (x - left)[..., None], (y - top)[..., None]
        flat = ops.reshape(images, (batch, height * width, channels))

        def pixels(row: Any, column: Any) -> Any:
            place = ops.cast(row, "int32") * width + ops.cast(column, "int32")
            taken = ops.take_along_axis(
                flat, ops.reshape(place, (batch, height * width, 1)), axis=1
            )
            return ops.reshape(taken, (batch, height, width, channels))

        upper = (1.0 - of_right) * pixels(top, left) + of_right * pixels(top, right)
        lower = (1.0 - of_right) * pixels(bottom, left) + of_right * pixels(
            bottom, right
        )
        return (1.0 - of_bottom) * upper + of_bottom * lower
