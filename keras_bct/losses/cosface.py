"""CosFace: an additive margin on the cosine of the target class."""

from __future__ import annotations

from typing import Any

import keras

from keras_bct.losses.classifier_loss import MarginLoss


@keras.saving.register_keras_serializable(package="keras_bct")
class CosFace(MarginLoss):
    """Cross entropy with target logit `s (cos(theta_y) - m)`, others `s cos(theta_c)`.

    Takes what `CosineHead` gives; one value a sample.

    Args:
        scale: The factor s, positive.
        margin: The margin m on the cosine, zero or more; 0.4 in the BCT paper.
        **kwargs: `label_smoothing` as in `ClassifierLoss`; `name`, `reduction` and
            `dtype` as in `keras.losses.Loss`.

    Example:
        Two classes, s = 1, m = 0.5: the logits become (0, 0.5 - 0.5).

        >>> import numpy as np
        >>> loss = CosFace(scale=1.0, margin=0.5)
        >>> round(float(loss(np.array([1]), np.array([[0.0, 0.5]]))), 4)
        0.6931

    References:
        docs/methods.md, section 2; Wang et al., CosFace, CVPR 2018, equation 4.
    """

    kind = "cosface"

    def target(self, cosine: Any) -> Any:
        """Take the margin off."""
        return cosine - self.margin
