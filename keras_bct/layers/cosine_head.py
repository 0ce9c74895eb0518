"""The head of NormSoftmax, SphereFace, CosFace and ArcFace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bct.layers.classifier_head import ClassifierHead

# The shortest length that is divided by. Its square is a normal float32, so that
# neither a zero embedding nor its gradient becomes NaN.
_SHORTEST = 1e-12


def cosines(embeddings: Any, rows: Any) -> Any:
    """Give the cosine of every embedding with every row.

    Args:
        embeddings: `(batch, d)` float32.
        rows: `(classes, d)` float32.

    Returns:
        `(batch, classes)` float32, in [-1, 1] up to rounding; 0 for a zero embedding.

    Example:
        >>> from keras import ops
        >>> ops.convert_to_numpy(cosines(ops.array([[3.0, 4.0]]), ops.eye(2)))
        array([[0.6, 0.8]], dtype=float32)
    """
    return ops.matmul(_unit(embeddings), ops.transpose(_unit(rows)))


def cosines_and_length(embeddings: Any, rows: Any) -> Any:
    """Give the cosines with every row, and `|x|` as a last column.

    Args:
        embeddings: `(batch, d)` float32.
        rows: `(classes, d)` float32.

    Returns:
        `(batch, classes + 1)` float32.
    """
    squares = ops.sum(ops.square(embeddings), axis=-1, keepdims=True)
    length = ops.sqrt(ops.maximum(squares, _SHORTEST**2))
    return ops.concatenate([cosines(embeddings, rows), length], axis=-1)


def _unit(vectors: Any) -> Any:
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(ops.maximum(squares, _SHORTEST**2))


@keras.saving.register_keras_serializable(package="keras_bct")
class CosineHead(ClassifierHead):
    """Embedding `(batch, d)` to cosines `(batch, classes)`, float32.

    `cos(theta_c) = <x, W_c> / (|x| |W_c|)`. Scale and margin belong to the loss
    (`CosFace`, `ArcFace`, ...), so that the same head serves them all.

    Args:
        classes: The number of classes, at least 2.
        with_length: Whether the embedding's length `|x|` follows as a last column, as
            the original SphereFace needs it.
        **kwargs: `seed`, `kernel_initializer` and `kernel_regularizer` of the rows W;
            `name` and the like of `keras.Layer`.

    Example:
        >>> import numpy as np
        >>> head = CosineHead(600)
        >>> head(np.ones((8, 64), "float32")).shape
        TensorShape([8, 600])

    References:
        docs/methods.md, section 2; Wang et al., CosFace, CVPR 2018, equation 4.
    """

    def __init__(
        self, classes: int, *, with_length: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(classes, **kwargs)
        self.with_length = bool(with_length)

    def call(self, embeddings: Any) -> Any:
        """Give the cosines, and the length where it is asked for."""
        if self.with_length:
            return cosines_and_length(embeddings, self.kernel)
        return cosines(embeddings, self.kernel)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Give `(batch, classes)`, or `(batch, classes + 1)` with the length."""
        return (input_shape[0], self.classes + int(self.with_length))

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {**super().get_config(), "with_length": self.with_length}
