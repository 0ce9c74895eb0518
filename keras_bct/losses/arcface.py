"""ArcFace: an additive margin on the angle of the target class."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_bct.losses.classifier_loss import MarginLoss

# The least squared sine. The derivative of cos(theta + m) by cos(theta) grows like
# 1 / sin(theta); below this the sine is held constant, and the gradient stays finite.
_LEAST_SQUARED_SINE = 1e-6


@keras.saving.register_keras_serializable(package="keras_bct")
class ArcFace(MarginLoss):
    """Cross entropy with target logit `s cos(theta_y + m)`, others `s cos(theta_c)`.

    Beyond `theta_y > pi - m`, where the cosine would rise again, the target logit
    continues monotonically as `s (cos(theta_y) - m sin(m))`. Takes what `CosineHead`
    gives; one value a sample.

    The angle itself is never computed: `cos(theta + m) = cos(theta) cos(m) -
    sin(theta) sin(m)`, with the sine held away from zero, so values and gradients are
    finite at cosine +-1.

    Args:
        scale: The factor s, positive.
        margin: The margin m in radians, in [0, pi].
        **kwargs: `label_smoothing` as in `ClassifierLoss`; `name`, `reduction` and
            `dtype` as in `keras.losses.Loss`.

    Example:
        Two classes, s = 1, m = pi / 2: the target's angle goes from 0 to pi / 2.

        >>> import numpy as np
        >>> loss = ArcFace(scale=1.0, margin=np.pi / 2)
        >>> round(float(loss(np.array([1]), np.array([[0.0, 1.0]]))), 2)
        0.69

    References:
        docs/methods.md, section 2; Deng et al., ArcFace, CVPR 2019, equation 3.
    """

    kind = "arcface"

    def __init__(self, *, scale: float, margin: float, **kwargs: Any) -> None:
        super().__init__(scale=scale, margin=margin, **kwargs)
        if margin > math.pi:
            raise ValueError(
                f"`margin` is an angle and should be in [0, pi]. Received: {margin!r}."
            )

    def target(self, cosine: Any) -> Any:
        """Turn the target's angle by the margin."""
        margin = self.margin
        squared_sine = ops.maximum(1.0 - ops.square(cosine), _LEAST_SQUARED_SINE)
        turned = cosine * math.cos(margin) - ops.sqrt(squared_sine) * math.sin(margin)
        beyond = cosine - margin * math.sin(margin)
        return ops.where(cosine >= math.cos(math.pi - margin), turned, beyond)
