"""What the random changes of faces have in common, as Keras layers.

BCT, section 3.2: "We use face mis-alignment and color distortion for data
augmentation."
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bct.checked_numbers import plain_seed


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

    amounts: tuple[str, ...]
    """The arguments that say how far pictures are changed."""

    def __init__(self, *, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed = plain_seed(seed)
        self.seed_generator = keras.random.SeedGenerator(self.seed)

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
        amounts = {name: getattr(self, name) for name in self.amounts}
        return {**super().get_config(), "seed": self.seed, **amounts}


def stateless(*layers: RandomChange) -> Callable[[Any, Any], Any]:
    """Put layers together for `training_dataset(augmentation=...)`.

    Args:
        *layers: in the order in which they change pictures.

    Returns:
        A function of pictures and a seed, int64 `(2,)`; the same seed makes the same
        changes.

    Example:
        >>> import tensorflow as tf
        >>> from keras_bct.data import ColourDistortion, Misalignment
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


def in_range(argument: str, value: float, top: float) -> float:
    """Refuse an amount that is negative or not below its top.

    Args:
        argument: the caller's name of it.
        value: the amount.
        top: what it has to stay below.

    Returns:
        The amount.

    Raises:
        ValueError: it is out of range.
    """
    if not 0 <= value < top:
        raise ValueError(
            f"`{argument}` should be at least 0 and below {top}. Received: {value}"
        )
    return float(value)
