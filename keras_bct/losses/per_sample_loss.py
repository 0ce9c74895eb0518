"""What every loss of this room is: a value for each sample, computed in float32."""

from __future__ import annotations

import abc
from typing import Any

import keras


class PerSampleLoss(keras.losses.Loss, abc.ABC):
    """A loss with one value a sample, computed in float32 unless told otherwise.

    The default reduction sums the values and divides by the batch size, which is exact
    under `MirroredStrategy`. A subclass says in `call` what the values are. A loss that
    it holds, it serialises in `get_config`; here it is made again.

    Args:
        name: Name of the loss.
        reduction: As in `keras.losses.Loss`.
        dtype: Float32 unless told otherwise.
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        reduction: str = "sum_over_batch_size",
        dtype: Any = "float32",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    @abc.abstractmethod
    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the value of each sample, `(batch,)`."""

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {**super().get_config(), "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> PerSampleLoss:
        """Make the loss again, and first the losses that it holds."""
        return cls(
            **{
                name: keras.saving.deserialize_keras_object(value)
                if isinstance(value, dict)
                else value
                for name, value in config.items()
            }
        )
