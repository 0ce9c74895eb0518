"""A small convolution network for small grey pictures."""

from __future__ import annotations

import keras
from keras import layers

from keras_bct.checked_numbers import plain_seed, whole_number


def glyph_network(
    embedding_size: int = 64,
    width: int = 24,
    *,
    image_shape: tuple[int, int, int] = (32, 32, 1),
    seed: int | None = None,
) -> keras.Model:
    """Give an untrained network of five convolutions and one linear layer.

    The grid of the last convolution is flattened, not averaged: what tells one
    character from another is where its parts stand.

    Args:
        embedding_size: Components d of the embedding.
        width: Channels of the first convolution; the others have 2, 3, 4 and 6 times
            as many.
        image_shape: Height, width and channels; height and width at least 8.
        seed: Makes the initial weights the same every time.

    Returns:
        A model from pictures `(batch, height, width, channels)`, float32 in 0..255, to
        raw embeddings `(batch, d)`, float32. Its BatchNorm is synchronised between the
        replicas of a `MirroredStrategy`.

    Raises:
        ValueError: An argument is out of its range.

    Example:
        >>> glyph_network(64, 16, seed=0).output_shape
        (None, 64)
    """
    embedding_size = whole_number("embedding_size", embedding_size, least=1)
    width = whole_number("width", width, least=1)
    if len(image_shape) != 3 or min(image_shape[:2]) < 8 or image_shape[2] < 1:
        raise ValueError(
            "`image_shape` should be (height, width, channels), height and width at "
            f"least 8. Received: {image_shape}."
        )
    seed = plain_seed(seed)
    pictures = keras.Input(image_shape, name="image")
    x = layers.Rescaling(1 / 127.5, offset=-1.0)(pictures)
    for index, (factor, strides) in enumerate([(1, 2), (2, 1), (3, 2), (4, 1), (6, 2)]):
        x = layers.Conv2D(
            factor * width,
            3,
            strides=strides,
            padding="same",
            use_bias=False,
            kernel_initializer=_initializer("he_normal", seed, index),
        )(x)
        x = layers.BatchNormalization(synchronized=True)(x)
        x = layers.ReLU()(x)
    x = layers.Flatten()(x)
    embeddings = layers.Dense(
        embedding_size,
        kernel_initializer=_initializer("glorot_uniform", seed, 5),
        dtype="float32",
        name="embedding",
    )(x)
    return keras.Model(pictures, embeddings, name="glyph_network")


def _initializer(
    name: str, seed: int | None, layer: int
) -> keras.initializers.Initializer:
    """Give each layer its own stream of the one seed."""
    config = {} if seed is None else {"seed": 1000 * seed + layer}
    return keras.initializers.get({"class_name": name, "config": config})
