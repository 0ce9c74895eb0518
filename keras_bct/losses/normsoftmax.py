"""NormSoftmax: cross entropy on scaled cosines, without a margin."""

from __future__ import annotations

from typing import Any

import keras

from keras_bct.losses.classifier_loss import ClassifierLoss, positive_number


@keras.saving.register_keras_serializable(package="keras_bct")
class NormSoftmax(ClassifierLoss):
    """Cross entropy of `s cos(theta_c)`, one value a sample.

    Takes what `CosineHead` gives.

    Args:
        scale: The factor s, positive.
        **kwargs: `label_smoothing` as in `ClassifierLoss`; `name`, `reduction` and
            `dtype` as in `keras.losses.Loss`.

    Example:
        >>> import numpy as np
        >>> loss = NormSoftmax(scale=1.0)
        >>> round(float(loss(np.array([1]), np.ones((1, 2)))), 4)
        0.6931

    References:
        docs/methods.md, section 2; Wang et al., NormFace, ACM MM 2017.
    """

    kind = "normsoftmax"

    def __init__(self, *, scale: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = positive_number("scale", scale)

    def plain_logits(self, outputs: Any) -> Any:
        """Scale the cosines."""
        return self.scale * outputs

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {**super().get_config(), "scale": self.scale}
