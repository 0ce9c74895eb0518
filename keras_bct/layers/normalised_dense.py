"""A dense layer without bias, BatchNorm and ReLU: the unit that h is built of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_bct.checked_numbers import whole_number


@keras.saving.register_keras_serializable(package="keras_bct")
class NormalisedDense(keras.Layer):
    """`ReLU(BatchNorm(x W))`, `(batch, n)` to `(batch, units)`.

    BatchNorm is synchronised between replicas.

    Args:
        units: How many components come out.
        kernel_initializer: Initialiser of W.
        kernel_regularizer: Regulariser of W.
        **kwargs: `name`, `dtype` and the like of `keras.Layer`.

    Example:
        >>> import numpy as np
        >>> NormalisedDense(3)(np.ones((2, 5), "float32")).shape
        TensorShape([2, 3])
    """

    def __init__(
        self,
        units: int,
        *,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(
            whole_number("units", units, least=1),
            use_bias=False,
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            dtype=self.dtype_policy,
        )
        self.normalise = keras.layers.BatchNormalization(
            synchronized=True, dtype=self.dtype_policy
        )

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the weights."""
        self.dense.build(input_shape)
        self.normalise.build((None, self.dense.units))

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Give what comes out; by the batch's own statistics when `training`."""
        normalised = self.normalise(self.dense(inputs), training=training)
        return keras.ops.relu(normalised)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Give `(batch, units)`."""
        return (input_shape[0], self.dense.units)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        dense = self.dense
        return {
            **super().get_config(),
            "units": dense.units,
            "kernel_initializer": keras.initializers.serialize(
                dense.kernel_initializer
            ),
            "kernel_regularizer": keras.regularizers.serialize(
                dense.kernel_regularizer
            ),
        }
