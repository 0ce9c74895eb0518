"""Softmax: plain cross entropy on logits."""

from __future__ import annotations

from typing import Any

import keras

from keras_bct.losses.classifier_loss import ClassifierLoss


@keras.saving.register_keras_serializable(package="keras_bct")
class Softmax(ClassifierLoss):
    """Cross entropy of `<x, W_c> + b_c`, one value a sample.

    Takes what `LinearHead` gives.

    Args:
        **kwargs: `label_smoothing` as in `ClassifierLoss`; `name`, `reduction` and
            `dtype` as in `keras.losses.Loss`.

    Example:
        >>> import numpy as np
        >>> round(float(Softmax()(np.array([1]), np.zeros((1, 2)))), 4)  # log(2)
        0.6931

    References:
        docs/methods.md, section 2.
    """

    kind = "softmax"

    def plain_logits(self, outputs: Any) -> Any:
        """Give the head's logits as they are."""
        return outputs
