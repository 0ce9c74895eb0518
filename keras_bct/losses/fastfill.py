"""FastFill's loss: the alignment loss weighed by the predicted uncertainty."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.alignment import Alignment
from keras_bct.losses.classifier_loss import positive_number
from keras_bct.losses.labels import LabelledLoss


@keras.saving.register_keras_serializable(package="keras_bct")
class FastFill(LabelledLoss):
    """`0.5 exp(-log sigma^2) L_l2+disc + lambda log sigma^2`, one value a sample.

    Where sigma^2 is high the sample's alignment counts less and sigma^2 itself costs:
    at its best `sigma^2 = L_l2+disc / (2 lambda)`, so that sigma^2 predicts the loss,
    and the backfill takes the highest first.

    With one variance for each of the d components, `exp(-log sigma_k^2)` weighs the
    squared error of component k, and the mean of `log sigma^2` over the components
    takes the place of `log sigma^2` elsewhere. The paper saw no gain by it.

    Args:
        alignment: L_l2+disc.
        log_variance_weight: lambda, positive. None takes the Gaussian's, which makes
            L_l2 alone a likelihood: d/2 where L_l2 is a sum over components, 1/2 where
            it is a mean (as in the authors' code) or left out.
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Raises:
        TypeError: `alignment` is no `Alignment`.
        ValueError: `log_variance_weight` is not positive.

    Example:
        L_l2 = 4, log sigma^2 = log 4: half of 4 / 4, and half of log 4.

        >>> import numpy as np
        >>> from keras_bct.losses import FeatureAlignment
        >>> loss = FastFill(Alignment(FeatureAlignment("mean")))
        >>> truth = {"embedding": np.zeros((1, 2))}
        >>> aligned = {
        ...     "embedding": np.full((1, 2), 2.0), "log_variance": np.log([[4.0]])
        ... }
        >>> round(float(loss(truth, aligned)), 4)
        1.1931

    References:
        Jaeckle et al., FastFill, ICLR 2023, equations 4 and 5; Kendall and Gal,
        NeurIPS 2017; Kendall et al., CVPR 2018. docs/methods.md, section 4.
    """

    def __init__(
        self,
        alignment: Alignment,
        *,
        log_variance_weight: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(alignment, Alignment):
            raise TypeError(
                "`alignment` should be a keras_bct.losses.Alignment. "
                f"Received: {alignment!r}."
            )
        self.alignment = alignment
        self.log_variance_weight = (
            None
            if log_variance_weight is None
            else positive_number("log_variance_weight", log_variance_weight)
        )

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the loss of each sample.

        Args:
            y_true: As `Alignment` takes it.
            y_pred: As `Alignment` takes it, and `log_variance` `(batch, 1)` or
                `(batch, d)`.

        Returns:
            `(batch,)`.
        """
        log_variance = y_pred["log_variance"]
        features = self.alignment.features
        size = int(y_pred["embedding"].shape[-1])
        variances = int(log_variance.shape[-1])
        if variances not in (1, size):
            raise ValueError(
                "`log_variance` should have 1 component, or one for each of the "
                f"embedding's {size}. Received: {variances}."
            )
        overall = ops.mean(log_variance, axis=-1)
        weight = self.log_variance_weight
        if weight is None:
            summed = features is not None and features.components == "sum"
            weight = 0.5 * size if summed else 0.5
        terms = self.alignment.terms(y_true, y_pred)
        if variances > 1 and features is not None:
            aligned = y_pred["embedding"]
            new = ops.cast(y_true["embedding"], aligned.dtype)
            squares = ops.square(aligned - new)
            weighted = features.reduce(ops.exp(-log_variance) * squares)
        else:
            weighted = ops.exp(-overall) * terms.get("features", 0.0)
        weighted = weighted + ops.exp(-overall) * terms.get("discriminative", 0.0)
        return 0.5 * weighted + weight * overall

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "alignment": keras.saving.serialize_keras_object(self.alignment),
            "log_variance_weight": self.log_variance_weight,
        }
