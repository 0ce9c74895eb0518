"""L_l2: the squared distance of an aligned old embedding and the new one (FCT)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.per_sample_loss import PerSampleLoss

COMPONENTS = ("mean", "sum")
"""How the squared errors of the components become one value a sample."""


@keras.saving.register_keras_serializable(package="keras_bct")
class FeatureAlignment(PerSampleLoss):
    """`|h(z_old) - z_new|^2`, one value a sample. Alone it is FCT.

    The paper writes the sum over components; the authors' code takes their mean. The
    two differ by the factor d, which weighs this term against the discriminative one:
    say which one was taken.

    Args:
        components: `sum` or `mean`.
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Raises:
        ValueError: `components` is neither.

    Example:
        >>> import numpy as np
        >>> new, aligned = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
        >>> float(FeatureAlignment("sum")(new, aligned))
        25.0
        >>> float(FeatureAlignment("mean")(new, aligned))
        12.5

    References:
        Jaeckle et al., FastFill, ICLR 2023, section 4; Ramanujan et al., Forward
        Compatible Training, CVPR 2022.
    """

    def __init__(
        self,
        components: str,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if components not in COMPONENTS:
            raise ValueError(
                f"`components` should be one of {', '.join(COMPONENTS)}. "
                f"Received: {components!r}."
            )
        self.components = components

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the error of each sample.

        Args:
            y_true: `(batch, d)` new embeddings.
            y_pred: `(batch, d)` aligned old embeddings.

        Returns:
            `(batch,)`.
        """
        return self.reduce(ops.square(y_pred - y_true))

    def reduce(self, values: Any) -> Any:
        """Give the sum or the mean of `(batch, d)` values over the components."""
        reduced = ops.sum if self.components == "sum" else ops.mean
        return reduced(values, axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "components": self.components,
        }
