"""The head of NormSoftmax, SphereFace, CosFace and ArcFace."""

from __future__ import annotations

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
        **kwargs: `seed`, `kernel_initializer` and `kernel_regularizer` of the rows W;
            `name` and the like of `keras.Layer`.

    Example:
        >>> import numpy as np
        >>> head = CosineHead(600)
        >>> head(np.ones((8, 64), "float32")).shape
        TensorShape([8, 600])

    References:
        METHODS.md, section 2; Wang et al., CosFace, CVPR 2018, equation 4.
    """

    def call(self, embeddings: Any) -> Any:
        """Give the cosines."""
        return cosines(embeddings, self.kernel)
