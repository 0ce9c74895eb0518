"""A deeper network for small grey pictures, for the change of depth in table 3."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

# Channels as a multiple of the width, and strides; a convolution that changes neither
# has a shortcut around it.
_CONVOLUTIONS = ((1, 2), (2, 1), (2, 1), (3, 2), (4, 1), (4, 1), (6, 2), (6, 1))


def deep_glyph_network(
    embedding_size: int,
    width: int,
    *,
    image_shape: tuple[int, int, int] = (32, 32, 1),
    seed: int = 0,
) -> keras.Model:
    """Gives an untrained network of eight convolutions and one linear layer.

    Args:
        embedding_size: Components d of the embedding.
        width: Channels of the first convolution.
        image_shape: Height, width and channels.
        seed: Makes the initial weights the same every time.

    Returns:
        A model from pictures `(batch, height, width, channels)`, float32 in 0..255, to
        raw embeddings `(batch, d)`, float32.

    Example:
        >>> deep_glyph_network(64, 8).output_shape
        (None, 64)
    """

    def initializer(name: str, layer: int) -> Any:
        config = {"seed": 1000 * int(seed) + layer}
        return keras.initializers.get({"class_name": name, "config": config})

    pictures = keras.Input(image_shape, name="image")
    x = layers.Rescaling(1 / 127.5, offset=-1.0)(pictures)
    for index, (factor, strides) in enumerate(_CONVOLUTIONS):
        before = x
        x = layers.Conv2D(
            factor * int(width),
            3,
            strides=strides,
            padding="same",
            use_bias=False,
            kernel_initializer=initializer("he_normal", index),
        )(x)
        x = layers.BatchNormalization(synchronized=True)(x)
        if before.shape == x.shape:
            x = layers.Add()([before, x])
        x = layers.ReLU()(x)
    embeddings = layers.Dense(
        int(embedding_size),
        kernel_initializer=initializer("glorot_uniform", len(_CONVOLUTIONS)),
        dtype="float32",
        name="embedding",
    )(layers.Flatten()(x))
    return keras.Model(pictures, embeddings, name="deep_glyph_network")
