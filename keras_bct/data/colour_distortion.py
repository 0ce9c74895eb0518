"""Faces in another light, or by another camera (BCT, section 3.2)."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_bct.data.random_change import RandomChange, in_range

# Y, I and Q of NTSC: brightness, and two axes of colour in which hue is an angle.
_YIQ = (
    (0.299, 0.587, 0.114),
    (0.595716, -0.274453, -0.321263),
    (0.211456, -0.522591, 0.311135),
)
_RGB = (
    (1.0, 0.956295, 0.621025),
    (1.0, -0.272122, -0.647381),
    (1.0, -1.106989, 1.704615),
)


@keras.saving.register_keras_serializable(package="keras_bct")
class ColourDistortion(RandomChange):
    """Change brightness, contrast, saturation and hue of every picture a little.

    Saturation stretches the two axes of colour of YIQ, hue turns them; grey pictures
    have neither. Contrast is about mid-grey.

    Args:
        brightness: up to this share of the range 0..255, darker or lighter.
        contrast: distance from mid-grey times `1 - contrast` to `1 + contrast`.
        saturation: distance from grey times `1 - saturation` to `1 + saturation`.
        hue: up to this angle to either side, in degrees.
        seed: of the layer's own draws.
        **kwargs: of `keras.layers.Layer`.

    Raises:
        ValueError: a share outside 0..1, an angle outside 0..180, or pictures of
            neither one nor three channels.

    Example:
        >>> import numpy as np
        >>> faces = np.full((2, 112, 112, 3), 128.0, "float32")
        >>> ColourDistortion(seed=0)(faces, training=True).shape
        TensorShape([2, 112, 112, 3])
    """

    draws = 4
    amounts = ("brightness", "contrast", "saturation", "hue")

    def __init__(
        self,
        *,
        brightness: float = 0.1,
        contrast: float = 0.2,
        saturation: float = 0.2,
        hue: float = 8.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.brightness = in_range("brightness", brightness, 1.0)
        self.contrast = in_range("contrast", contrast, 1.0)
        self.saturation = in_range("saturation", saturation, 1.0)
        self.hue = in_range("hue", hue, 180.0)

    def change(self, images: Any, draws: Any) -> Any:
        """Change the colours; see the base class."""
        channels = images.shape[-1]
        if channels not in (1, 3):
            raise ValueError(
                "`images` should have 1 channel or 3. Received: shape "
                f"{tuple(images.shape)}"
            )
        if channels == 3:
            images = self._turn_colours(images, draws[2], draws[3])
        gain = (1.0 + self.contrast * draws[0])[:, None, None, None]
        offset = (255.0 * self.brightness * draws[1])[:, None, None, None]
        return ops.clip(127.5 + gain * (images - 127.5) + offset, 0.0, 255.0)

    def _turn_colours(self, images: Any, saturation: Any, hue: Any) -> Any:
        angle = (self.hue * math.pi / 180.0) * hue
        stretch = 1.0 + self.saturation * saturation
        cosine, sine = stretch * ops.cos(angle), stretch * ops.sin(angle)
        one, zero = ops.ones_like(angle), ops.zeros_like(angle)
        turn = ops.stack(
            [
                ops.stack([one, zero, zero], axis=-1),
                ops.stack([zero, cosine, -sine], axis=-1),
                ops.stack([zero, sine, cosine], axis=-1),
            ],
            axis=1,
        )
        to_yiq = ops.convert_to_tensor(_YIQ, "float32")
        to_rgb = ops.convert_to_tensor(_RGB, "float32")
        colours = ops.matmul(ops.matmul(to_rgb, turn), to_yiq)
        return ops.einsum("bhwc,bdc->bhwd", images, colours)
