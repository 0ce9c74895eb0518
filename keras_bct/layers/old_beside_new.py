"""Old and new vectors of one sample in one tensor, for the losses that compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bct")
class OldBesideNew(keras.Layer):
    """Old `(batch, n)` and new `(batch, n or more)` to `(batch, 2, n)`, float32.

    Keras gives a loss one output. The losses that compare the old vector with the new
    one (`L2`, `Distillation`, `Contrastive`) take them so: `[:, 0]` is the old one,
    `[:, 1]` the first n components of the new one. No gradient reaches the old one.

    Args:
        **kwargs: `name` and the like of `keras.Layer`.

    Example:
        >>> import numpy as np
        >>> old, new = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0, 5.0]])
        >>> OldBesideNew()([old, new]).numpy()
        array([[[1., 2.],
                [3., 4.]]], dtype=float32)
    """

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)

    def call(self, vectors: Sequence[Any]) -> Any:
        """Cut the new one to the old one's size and stack them."""
        old, new = vectors
        return ops.stack([ops.stop_gradient(old), new[:, : old.shape[-1]]], axis=1)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Any:
        """Give `(batch, 2, n)`, or refuse a new vector that is shorter."""
        old, new = input_shape
        if len(old) != 2 or len(new) != 2 or new[-1] < old[-1]:
            raise ValueError(
                "The old and the new vectors should be (batch, n) and (batch, n or "
                f"more). Received: {tuple(old)} and {tuple(new)}."
            )
        return (new[0], 2, old[-1])
