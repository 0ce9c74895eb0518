"""FastFill's h: from old embeddings into the new model's space."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.checked_numbers import plain_seed
from keras_bct.layers.normalised_dense import NormalisedDense


@keras.saving.register_keras_serializable(package="keras_bct")
class AlignmentMap(keras.Layer):
    """Old embeddings `(batch, d_old)` to aligned ones `(batch, d_new)`, float32.

    The old embedding goes through two `NormalisedDense` (a dense layer without bias,
    BatchNorm, ReLU), d_old -> 2 d_old -> 2 d_new, and so does the side information s,
    d_s -> 2 d_s -> 2 d_new. What they give is concatenated (4 d_new) and goes through
    two hidden ones and a linear layer with bias. Without side information s is the old
    embedding itself.

    With `batch_statistics` False BatchNorm runs in inference mode during training too,
    as the paper has it from half of the epochs on; its scale and offset train on.

    Args:
        embedding_size: d_new.
        hidden_size: Units of each of the two hidden layers; 2048 in the paper.
        kernel_regularizer: Regulariser of every kernel; the authors' weight decay w is
            `keras.regularizers.L2(w / 2)`.
        seed: Makes the initial weights the same every time.
        batch_statistics: Whether BatchNorm normalises by the batch in training.
        **kwargs: `name` and the like of `keras.Layer`.

    Raises:
        ValueError: A size below 1, or inputs that are not `(batch, n)`.

    Example:
        >>> import numpy as np
        >>> h = AlignmentMap(embedding_size=6, hidden_size=16)
        >>> h(np.ones((8, 4), "float32")).shape
        TensorShape([8, 6])

    References:
        Jaeckle et al., FastFill, ICLR 2023, appendix A.2; Ramanujan et al., Forward
        Compatible Training, CVPR 2022. docs/methods.md, section 4.
    """

    def __init__(
        self,
        embedding_size: int,
        *,
        hidden_size: int = 2048,
        kernel_regularizer: Any = None,
        seed: int | None = None,
        batch_statistics: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        for name, value in (
            ("embedding_size", embedding_size),
            ("hidden_size", hidden_size),
        ):
            if int(value) != value or value < 1:
                raise ValueError(
                    f"`{name}` should be a whole number, at least 1. "
                    f"Received: {value!r}."
                )
        self.embedding_size = int(embedding_size)
        self.hidden_size = int(hidden_size)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.seed = plain_seed(seed)
        self.batch_statistics = bool(batch_statistics)

    def build(self, old_shape: Any, side_shape: Any = None) -> None:
        """Make the layers for the sizes that go in."""
        old = _size("old", old_shape)
        side = old if side_shape is None else _size("side", side_shape)
        new, hidden = self.embedding_size, self.hidden_size
        self.old_1, self.old_2 = self._dense(0, 2 * old), self._dense(1, 2 * new)
        self.side_1, self.side_2 = self._dense(2, 2 * side), self._dense(3, 2 * new)
        self.hidden_1, self.hidden_2 = self._dense(4, hidden), self._dense(5, hidden)
        self.last = keras.layers.Dense(
            new,
            kernel_initializer=self._initializer(6),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
        )
        for layer, size in (
            (self.old_1, old),
            (self.old_2, 2 * old),
            (self.side_1, side),
            (self.side_2, 2 * side),
            (self.hidden_1, 4 * new),
            (self.hidden_2, hidden),
            (self.last, hidden),
        ):
            layer.build((None, size))

    def call(self, old: Any, side: Any = None, training: bool | None = None) -> Any:
        """Give the aligned embeddings.

        Args:
            old: `(batch, d_old)` old embeddings.
            side: `(batch, d_s)` side information, or None.
            training: As in `keras.Layer`.
        """
        side = old if side is None else side
        by_batch = bool(training) and self.batch_statistics
        old = self.old_2(self.old_1(old, training=by_batch), training=by_batch)
        side = self.side_2(self.side_1(side, training=by_batch), training=by_batch)
        hidden = ops.concatenate([old, side], axis=-1)
        hidden = self.hidden_1(hidden, training=by_batch)
        return self.last(self.hidden_2(hidden, training=by_batch))

    def compute_output_shape(self, old_shape: Any, side_shape: Any = None) -> Any:
        """Give `(batch, d_new)`."""
        return (old_shape[0], self.embedding_size)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "embedding_size": self.embedding_size,
            "hidden_size": self.hidden_size,
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "seed": self.seed,
            "batch_statistics": self.batch_statistics,
        }

    def _dense(self, place: int, units: int) -> NormalisedDense:
        return NormalisedDense(
            units,
            kernel_initializer=self._initializer(place),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
        )

    def _initializer(self, place: int) -> Any:
        seed = None if self.seed is None else 1000 * self.seed + place
        return keras.initializers.GlorotUniform(seed=seed)


def _size(name: str, shape: Any) -> int:
    if len(shape) != 2 or shape[-1] is None:
        raise ValueError(
            f"`{name}` should have shape (batch, n) with n known. "
            f"Received: shape {tuple(shape)}."
        )
    return int(shape[-1])
