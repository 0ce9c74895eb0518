"""Random changes of training pictures, a batch at a time."""

from __future__ import annotations

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Augmentation:
    """How far a training picture may be changed; every draw is uniform.

    Attributes:
        shift: up to this share of the side, along each axis.
        scale: size times `1 - scale` to `1 + scale`.
        rotation: up to this angle to either side, in degrees.
        contrast: distance from mid-grey times `1 - contrast` to `1 + contrast`.
        brightness: up to this share of the range 0..255, darker or lighter.
    """

    shift: float = 0.06
    scale: float = 0.1
    rotation: float = 6.0
    contrast: float = 0.2
    brightness: float = 0.1

    def __post_init__(self) -> None:
        """Check the ranges."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            top = 180.0 if field.name == "rotation" else 1.0
            if not 0 <= value < top:
                raise ValueError(
                    f"`{field.name}` should be at least 0 and below {top}. "
                    f"Received: {value}"
                )

    def __call__(self, images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Change a batch of pictures.

        What moves in from beyond the edge repeats the edge's own pixels, so that it
        has the background's colour.

        Args:
            images: float32 in 0..255, shape (batch, height, width, channels).
            seed: int, shape (2,); the same seed makes the same changes.

        Returns:
            float32 in 0..255 of the same shape.
        """
        batch = tf.shape(images)[0]
        draws = tf.random.stateless_uniform((6, batch), seed, -1.0, 1.0)
        height = tf.cast(tf.shape(images)[1], tf.float32)
        width = tf.cast(tf.shape(images)[2], tf.float32)
        zoom = 1.0 + self.scale * draws[0]
        angle = self.rotation * (3.14159265 / 180.0) * draws[1]
        cosine, sine = tf.cos(angle) / zoom, tf.sin(angle) / zoom
        # The transform maps where a pixel goes to where it comes from; zoom and
        # rotation keep the centre.
        middle_x, middle_y = (width - 1.0) / 2.0, (height - 1.0) / 2.0
        to_x = middle_x + self.shift * width * draws[2]
        to_y = middle_y + self.shift * height * draws[3]
        zero = tf.zeros_like(zoom)
        transforms = tf.stack(
            [
                cosine,
                -sine,
                middle_x - cosine * to_x + sine * to_y,
                sine,
                cosine,
                middle_y - sine * to_x - cosine * to_y,
                zero,
                zero,
            ],
            axis=1,
        )
        moved = tf.raw_ops.ImageProjectiveTransformV3(
            images=images,
            transforms=transforms,
            output_shape=tf.shape(images)[1:3],
            interpolation="BILINEAR",
            fill_mode="NEAREST",
            fill_value=0.0,
        )
        moved.set_shape(images.shape)
        gain = (1.0 + self.contrast * draws[4])[:, None, None, None]
        offset = (255.0 * self.brightness * draws[5])[:, None, None, None]
        return tf.clip_by_value(127.5 + gain * (moved - 127.5) + offset, 0.0, 255.0)
