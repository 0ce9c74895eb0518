"""SphereFace: a factor on the angle of the target class."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_bct.losses.classifier_loss import MarginLoss


@keras.saving.register_keras_serializable(package="keras_bct")
class SphereFace(MarginLoss):
    """Cross entropy with target logit `s psi(theta_y)`, others `s cos(theta_c)`.

    With `scale=None` it is the original, with the embedding's length `|x|` in place of
    s: give it what `CosineHead(classes, with_length=True)` gives.

    `psi(theta) = (-1)^k cos(m theta) - 2 k` for theta in `[k pi / m, (k+1) pi / m]`,
    the monotone continuation of `cos(m theta)`. Takes what `CosineHead` gives; one
    value a sample.

    `cos(m theta)` is the Chebyshev polynomial `T_m(cos(theta))`, so its gradient is
    finite at cosine +-1 and no angle is differentiated.

    Args:
        scale: The factor s, positive, or None for `|x|`.
        margin: The factor m on the angle, a whole number, at least 1.
        **kwargs: `label_smoothing` as in `ClassifierLoss`; `name`, `reduction` and
            `dtype` as in `keras.losses.Loss`.

    Example:
        Two classes, s = 1, m = 2: the target's angle of 45 degrees becomes 90.

        >>> import numpy as np
        >>> loss = SphereFace(scale=1.0, margin=2)
        >>> cosines = np.array([[0.0, 0.5**0.5]])
        >>> round(float(loss(np.array([1]), cosines)), 4)
        0.6931

    References:
        docs/methods.md, section 2; Liu et al., SphereFace, CVPR 2017, equation 7.
    """

    kind = "sphereface"

    def __init__(
        self, *, scale: float | None, margin: float = 4, **kwargs: Any
    ) -> None:
        super().__init__(scale=scale, margin=margin, **kwargs)
        if margin != int(margin) or margin < 1:
            raise ValueError(
                "`margin` multiplies the angle and should be a whole number, at least "
                f"1. Received: {margin!r}."
            )

    def parts(self, outputs: Any) -> tuple[Any, Any]:
        """Give the cosines, and s or the length that stands in the last column."""
        if self.scale is None:
            return outputs[:, :-1], outputs[:, -1:]
        return outputs, self.scale

    def target(self, cosine: Any) -> Any:
        """Multiply the target's angle by the margin."""
        cosine = ops.clip(cosine, -1.0, 1.0)
        factor = int(self.margin)
        before, multiplied = ops.ones_like(cosine), cosine
        for _ in range(factor - 1):
            before, multiplied = multiplied, 2.0 * cosine * multiplied - before
        # At theta = pi the floor would start a piece that psi does not have.
        piece = ops.floor(factor / math.pi * ops.arccos(ops.stop_gradient(cosine)))
        piece = ops.minimum(piece, factor - 1.0)
        sign = 1.0 - 2.0 * ops.mod(piece, 2.0)
        return sign * multiplied - 2.0 * piece
