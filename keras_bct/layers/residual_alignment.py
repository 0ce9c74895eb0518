"""A closed-form map and what a small network adds to it."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import ArrayLike

from keras_bct.checked_numbers import plain_seed


@keras.saving.register_keras_serializable(package="keras_bct")
class ResidualAlignment(keras.Layer):
    """`x A + b + relu(x U + c) V`, old embeddings `(batch, d_old)` to `(batch, d_new)`.

    x is the old embedding, with the side information beside it where there is some. A
    and b are a closed-form map that does not train, `keras_bct.adapters.Ridge`'s for
    example; V begins at zero, so that training begins at the closed form and a network
    that learns nothing that holds elsewhere can be stopped there.

    Args:
        matrix: A, `(d_old + d_s, d_new)`; None while the layer is read back from its
            config: its weights are NaN until they are loaded.
        offset: b, `(d_new,)`.
        embedding_size: d_new, where `matrix` is None.
        hidden_size: Columns of U.
        dropout: Share of the hidden units that are left out in training. It is what
            keeps the network from learning what holds for the training classes alone.
        kernel_regularizer: Regulariser of U and V.
        seed: Makes the initial weights the same every time.
        **kwargs: `name` and the like of `keras.Layer`.

    Raises:
        ValueError: Shapes that do not fit, NaN or infinity, or one of `matrix` and
            `offset` without the other.

    Example:
        >>> layer = ResidualAlignment(2 * np.eye(3), np.zeros(3), hidden_size=8)
        >>> layer(np.ones((1, 3), "float32")).numpy().tolist()
        [[2.0, 2.0, 2.0]]
    """

    def __init__(
        self,
        matrix: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        embedding_size: int | None = None,
        hidden_size: int = 256,
        dropout: float = 0.0,
        kernel_regularizer: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self._closed_form = None
        if (matrix is None) != (offset is None):
            raise ValueError(
                "`matrix` and `offset` should be given together. Received: "
                f"{'offset' if matrix is None else 'matrix'} alone."
            )
        if matrix is not None:
            matrix, offset = np.asarray(matrix), np.asarray(offset)
            if matrix.ndim != 2 or offset.shape != matrix.shape[1:]:
                raise ValueError(
                    "`matrix` should have shape (n, d_new) and `offset` (d_new,). "
                    f"Received: {matrix.shape} and {offset.shape}."
                )
            if not np.isfinite(matrix).all() or not np.isfinite(offset).all():
                raise ValueError(
                    "`matrix` and `offset` should be finite. Received: NaN or infinity."
                )
            self._closed_form = (matrix, offset)
            embedding_size = matrix.shape[1]
        if embedding_size is None or int(hidden_size) != hidden_size or hidden_size < 1:
            raise ValueError(
                "`matrix` and `offset` should be given, and `hidden_size` be a whole "
                f"number, at least 1. Received: hidden_size={hidden_size!r}."
            )
        self.embedding_size = int(embedding_size)
        self.hidden_size = int(hidden_size)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.seed = plain_seed(seed)
        self.dropout = keras.layers.Dropout(
            float(dropout), seed=self.seed, dtype=self.dtype_policy
        )

    def build(self, old_shape: Any, side_shape: Any = None) -> None:
        """Take over the closed form, and make the network."""
        size = old_shape[-1] + (0 if side_shape is None else side_shape[-1])
        wanted = (size, self.embedding_size)
        matrix, offset = self._closed_form or (
            np.full(wanted, np.nan),
            np.full(wanted[1], np.nan),
        )
        if matrix.shape != wanted:
            raise ValueError(
                f"`matrix` should have a row for each of the {size} components that go "
                f"in. Received: shape {matrix.shape}."
            )
        self.matrix = self._constant("matrix", matrix)
        self.offset = self._constant("offset", offset)
        self.inner = keras.layers.Dense(
            self.hidden_size,
            activation="relu",
            kernel_initializer=keras.initializers.HeNormal(seed=self.seed),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
        )
        self.outer = keras.layers.Dense(
            self.embedding_size,
            use_bias=False,
            kernel_initializer="zeros",
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
        )
        self.inner.build((None, size))
        self.outer.build((None, self.hidden_size))

    def call(self, old: Any, side: Any = None, training: bool | None = None) -> Any:
        """Give the aligned embeddings.

        Args:
            old: `(batch, d_old)` old embeddings.
            side: `(batch, d_s)` side information, or None.
            training: As in `keras.Layer`.
        """
        rows = old if side is None else ops.concatenate([old, side], axis=-1)
        linear = ops.matmul(rows, self.matrix) + self.offset
        hidden = self.dropout(self.inner(rows), training=training)
        return linear + self.outer(hidden)

    def compute_output_shape(self, old_shape: Any, side_shape: Any = None) -> Any:
        """Give `(batch, d_new)`."""
        return (old_shape[0], self.embedding_size)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes, but for the closed form: it is weights."""
        return {
            **super().get_config(),
            "embedding_size": self.embedding_size,
            "hidden_size": self.hidden_size,
            "dropout": self.dropout.rate,
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "seed": self.seed,
        }

    def _constant(self, name: str, values: Any) -> Any:
        return self.add_weight(
            name=name,
            shape=values.shape,
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(values, dtype),
            trainable=False,
        )
