"""The augmentation of BCT's faces as Keras layers: mis-alignment, colour distortion.

BCT, section 3.2: "We use face mis-alignment and color distortion for data
augmentation." A detector never puts the face exactly where the aligned ones have it;
random shift, rotation and scale stand for its errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

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


class RandomChange(keras.layers.Layer):
    """Base: pictures 0..255 `(batch, height, width, channels)`, changed in training.

    In inference pictures pass as they are. Within a model the draws come from a seed
    generator that is saved with it; `change` takes them from outside, for a data
    pipeline whose batches are functions of their number (`stateless`).

    Args:
        seed: of the layer's own draws.
        **kwargs: of `keras.layers.Layer`.
    """

    draws: int
    """How many numbers a picture's change takes."""

    def __init__(self, *, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def change(self, images: Any, draws: Any) -> Any:
        """Change pictures.

        Args:
            images: `(batch, height, width, channels)` float32 in 0..255.
            draws: `(draws, batch)` float32, uniform in -1..1.

        Returns:
            The same shape, float32 in 0..255.
        """
        raise NotImplementedError

    def call(self, images: Any, training: bool | None = None) -> Any:
        """Change pictures in training."""
        if not training:
            return images
        draws = keras.random.uniform(
            (self.draws, ops.shape(images)[0]), -1.0, 1.0, seed=self.seed_generator
        )
        changed = self.change(ops.cast(images, "float32"), draws)
        return ops.cast(changed, images.dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape as it is."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is built from again."""
        return {**super().get_config(), "seed": self.seed}


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
        self.shift = _in_range("shift", shift, 1.0)
        self.rotation = _in_range("rotation", rotation, 180.0)
        self.scale = _in_range("scale", scale, 1.0)

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

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is built from again."""
        return {
            **super().get_config(),
            "shift": self.shift,
            "rotation": self.rotation,
            "scale": self.scale,
        }


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
        self.brightness = _in_range("brightness", brightness, 1.0)
        self.contrast = _in_range("contrast", contrast, 1.0)
        self.saturation = _in_range("saturation", saturation, 1.0)
        self.hue = _in_range("hue", hue, 180.0)

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

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is built from again."""
        return {
            **super().get_config(),
            "brightness": self.brightness,
            "contrast": self.contrast,
            "saturation": self.saturation,
            "hue": self.hue,
        }


@keras.saving.register_keras_serializable(package="keras_bct")
class HorizontalFlip(RandomChange):
    """Mirror left and right in a share of the pictures.

    Args:
        probability: of a picture to be mirrored.
        seed: of the layer's own draws.
        **kwargs: of `keras.layers.Layer`.

    Raises:
        ValueError: a probability outside 0..1.

    Example:
        >>> import numpy as np
        >>> ramp = np.arange(3, dtype="float32").reshape(1, 1, 3, 1)
        >>> HorizontalFlip(probability=1.0)(ramp, training=True)[0, 0, :, 0]
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([2., 1., 0.], dtype=float32)>
    """

    draws = 1

    def __init__(
        self, *, probability: float = 0.5, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        if not 0 <= probability <= 1:
            raise ValueError(
                f"`probability` should be from 0 to 1. Received: {probability}"
            )
        self.probability = probability

    def change(self, images: Any, draws: Any) -> Any:
        """Mirror some pictures; see the base class."""
        mirrored = (draws[0] + 1.0) / 2.0 < self.probability
        return ops.where(
            mirrored[:, None, None, None], ops.flip(images, axis=2), images
        )

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is built from again."""
        return {**super().get_config(), "probability": self.probability}


def stateless(*layers: RandomChange) -> Callable[[Any, Any], Any]:
    """Put layers together for `training_dataset(augmentation=...)`.

    Args:
        *layers: in the order in which they change pictures.

    Returns:
        A function of pictures and a seed, int64 `(2,)`; the same seed makes the same
        changes.

    Example:
        >>> import tensorflow as tf
        >>> augmentation = stateless(Misalignment(), ColourDistortion())
        >>> augmentation(tf.zeros((2, 8, 8, 3)), tf.constant([0, 1], tf.int64)).shape
        TensorShape([2, 8, 8, 3])
    """
    import tensorflow as tf

    total = sum(layer.draws for layer in layers)

    def augment(images: Any, seed: Any) -> Any:
        draws = tf.random.stateless_uniform(
            (total, tf.shape(images)[0]), seed, -1.0, 1.0
        )
        start = 0
        for layer in layers:
            images = layer.change(images, draws[start : start + layer.draws])
            start += layer.draws
        return images

    return augment


def _in_range(argument: str, value: float, top: float) -> float:
    if not 0 <= value < top:
        raise ValueError(
            f"`{argument}` should be at least 0 and below {top}. Received: {value}"
        )
    return value
