"""The head of Softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bct.layers.classifier_head import ClassifierHead


@keras.saving.register_keras_serializable(package="keras_bct")
class LinearHead(ClassifierHead):
    """Embedding `(batch, d)` to logits `<x, W_c> + b_c`, `(batch, classes)`, float32.

    Args:
        classes: The number of classes, at least 2.
        use_bias: Whether there is a bias b.
        **kwargs: `seed`, `kernel_initializer` and `kernel_regularizer` of the rows W;
            `name` and the like of `keras.Layer`.

    Example:
        >>> import numpy as np
        >>> head = LinearHead(10)
        >>> head(np.ones((8, 64), "float32")).shape
        TensorShape([8, 10])

    References:
        docs/methods.md, section 2, Softmax.
    """

    def __init__(self, classes: int, *, use_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(classes, **kwargs)
        self.use_bias = bool(use_bias)

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make one row and one bias a class."""
        super().build(input_shape)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias", shape=(self.classes,), initializer="zeros"
            )

    def call(self, embeddings: Any) -> Any:
        """Give the logits."""
        logits = ops.matmul(embeddings, ops.transpose(self.kernel))
        return logits if self.bias is None else logits + self.bias

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {**super().get_config(), "use_bias": self.use_bias}
