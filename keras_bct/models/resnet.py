"""ResNet backbones with one linear layer to the embedding."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from keras_bct.checked_numbers import plain_seed, whole_number

DEPTHS = (18, 50, 101, 152)

# Below this side, in pixels, ResNet-18 begins with one 3 x 3 convolution: the usual
# beginning would leave a 32-pixel picture one position of the last grid.
_SMALL = 64


def resnet(
    depth: int,
    embedding_size: int = 128,
    *,
    image_shape: tuple[int, int, int] = (112, 112, 3),
    seed: int | None = None,
) -> keras.Model:
    """Give an untrained ResNet, its grid averaged, with one linear layer to d.

    Depths 50, 101 and 152 are Keras's own; it has no ResNet-18. The backbone of the BCT
    paper is `resnet(101, 128)` for the old model, `resnet(152, 256)` for the deeper and
    wider ones of table 3.

    Args:
        depth: 18, 50, 101 or 152.
        embedding_size: Components d of the embedding.
        image_shape: Height, width and channels; height and width at least 32.
        seed: Makes the initial weights the same every time.

    Returns:
        A model from pictures `(batch, height, width, channels)`, float32 in 0..255, to
        raw embeddings `(batch, d)`, float32. Its BatchNorm is synchronised between the
        replicas of a `MirroredStrategy`.

    Raises:
        ValueError: An argument is out of its range.

    Example:
        >>> resnet(18, 64, image_shape=(32, 32, 1)).output_shape
        (None, 64)

    References:
        He et al., Deep Residual Learning for Image Recognition, CVPR 2016; Shen et
        al., CVPR 2020, section 3.1.
    """
    if depth not in DEPTHS:
        raise ValueError(
            f"`depth` should be one of {', '.join(map(str, DEPTHS))}. Received: "
            f"{depth!r}."
        )
    embedding_size = whole_number("embedding_size", embedding_size, least=1)
    if len(image_shape) != 3 or min(image_shape[:2]) < 32 or image_shape[2] < 1:
        raise ValueError(
            "`image_shape` should be (height, width, channels), height and width at "
            f"least 32. Received: {image_shape}."
        )
    seeds = _Seeds(plain_seed(seed))
    pictures = keras.Input(image_shape, name="image")
    x = layers.Rescaling(1 / 127.5, offset=-1.0)(pictures)
    trunk = (
        _resnet_18(image_shape) if depth == 18 else _keras_resnet(depth, image_shape)
    )
    trunk = keras.models.clone_model(trunk, clone_function=seeds.rebuild)
    embeddings = layers.Dense(
        embedding_size,
        kernel_initializer=seeds.initializer("glorot_uniform"),
        dtype="float32",
        name="embedding",
    )(trunk(x))
    return keras.Model(pictures, embeddings, name=f"resnet{depth}")


class _Seeds:
    """Rebuilds layers with a stream of the one seed for each, and synchronised."""

    def __init__(self, seed: int | None) -> None:
        self._next = None if seed is None else 1000 * seed

    def initializer(self, name: str) -> dict[str, Any]:
        config = {}
        if self._next is not None:
            config["seed"] = self._next
            self._next += 1
        return {"class_name": name, "config": config}

    def rebuild(self, layer: keras.Layer) -> keras.Layer:
        config = layer.get_config()
        if isinstance(layer, layers.Conv2D):
            config["kernel_initializer"] = self.initializer("he_normal")
        if isinstance(layer, layers.BatchNormalization):
            config["synchronized"] = True
        return type(layer).from_config(config)


def _keras_resnet(depth: int, image_shape: tuple[int, int, int]) -> keras.Model:
    make = getattr(keras.applications, f"ResNet{depth}")
    return make(include_top=False, weights=None, input_shape=image_shape, pooling="avg")


def _resnet_18(image_shape: tuple[int, int, int]) -> keras.Model:
    pictures = keras.Input(image_shape)
    if min(image_shape[:2]) < _SMALL:
        x = _normalised(layers.Conv2D(64, 3, padding="same", use_bias=False)(pictures))
    else:
        x = layers.Conv2D(64, 7, strides=2, padding="same", use_bias=False)(pictures)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(_normalised(x))
    for width, strides in [(64, 1), (128, 2), (256, 2), (512, 2)]:
        x = _basic_block(_basic_block(x, width, strides), width, 1)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(pictures, x, name="resnet18_trunk")


def _basic_block(x: Any, width: int, strides: int) -> Any:
    shortcut = x
    if strides > 1:
        shortcut = layers.Conv2D(width, 1, strides=strides, use_bias=False)(x)
        shortcut = layers.BatchNormalization()(shortcut)
    x = layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(x)
    x = layers.Conv2D(width, 3, padding="same", use_bias=False)(_normalised(x))
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.Add()([x, shortcut]))


def _normalised(x: Any) -> Any:
    return layers.ReLU()(layers.BatchNormalization()(x))
