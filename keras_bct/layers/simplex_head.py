"""The fixed head of the d-simplex: compatible without an old model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_bct.layers.classifier_head import ClassifierHead


def simplex_vertices(classes: int) -> NDArray[np.float32]:
    """Give the vertices of a regular simplex, of unit length around the origin.

    Every two have the cosine `-1 / (classes - 1)`.

    Args:
        classes: The number of vertices, at least 2.

    Returns:
        `(classes, classes - 1)` float32.

    Example:
        >>> vertices = simplex_vertices(3)
        >>> (vertices @ vertices.T).round(2)[0]
        array([ 1. , -0.5, -0.5], dtype=float32)
    """
    size = classes - 1
    # The unit vectors and one point at the same distance from them all.
    last = np.full((1, size), (1.0 - np.sqrt(classes)) / size)
    vertices = np.concatenate([np.eye(size), last])
    vertices -= vertices.mean(axis=0)
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return np.asarray(vertices, np.float32)


@keras.saving.register_keras_serializable(package="keras_bct")
class SimplexHead(ClassifierHead):
    """Embedding `(batch, classes - 1)` to logits `<x, W_c>`, W fixed.

    The rows W are the vertices of a regular simplex and are not trained, so every
    model that is trained with the same head puts a class in the same direction: its
    versions come out compatible without the old model. Reserve classes for the future,
    since the embedding has as many components as there are classes, less one. The
    weights take `4 classes^2` bytes.

    Args:
        classes: The number of classes, those reserved for the future included.
        **kwargs: `name` and the like of `keras.Layer`.

    Raises:
        ValueError: The embedding has not `classes - 1` components.

    Example:
        >>> SimplexHead(5)(np.ones((8, 4), "float32")).shape
        TensorShape([8, 5])

    References:
        docs/methods.md, section 2; Biondi et al., CoReS, TPAMI 2023.
    """

    kind = "simplex"

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Lay the vertices down."""
        if input_shape[-1] != self.classes - 1:
            raise ValueError(
                f"A simplex of {self.classes} classes needs embeddings of "
                f"{self.classes - 1} components. Received: input shape "
                f"{tuple(input_shape)}; give the backbone embedding_size="
                f"{self.classes - 1}."
            )
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.classes, self.classes - 1),
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(
                simplex_vertices(self.classes), dtype
            ),
            trainable=False,
        )

    def call(self, embeddings: Any) -> Any:
        """Give the logits."""
        return ops.matmul(embeddings, ops.transpose(self.kernel))
