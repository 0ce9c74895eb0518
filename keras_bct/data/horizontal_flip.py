"""Faces seen in a mirror."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.data.random_change import RandomChange


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
    amounts = ("probability",)

    def __init__(
        self, *, probability: float = 0.5, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        if not 0 <= probability <= 1:
            raise ValueError(
                f"`probability` should be from 0 to 1. Received: {probability}"
            )
        self.probability = float(probability)

    def change(self, images: Any, draws: Any) -> Any:
        """Mirror some pictures; see the base class."""
        mirrored = (draws[0] + 1.0) / 2.0 < self.probability
        return ops.where(
            mirrored[:, None, None, None], ops.flip(images, axis=2), images
        )
