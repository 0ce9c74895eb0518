"""How many samples of a batch have an old label."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.influence import NO_OLD_CLASS


@keras.saving.register_keras_serializable(package="keras_bct")
class OldShare(keras.metrics.Mean):
    """The share of samples whose old label is not -1, over an epoch.

    Compile it on the output `old`, and the logs have it as `old_share`.

    Args:
        name: Of the metric.
        dtype: As in `keras.metrics.Metric`.

    Example:
        >>> import numpy as np
        >>> share = OldShare()
        >>> share.update_state(np.array([3, -1, 0, -1]), np.zeros((4, 5)))
        >>> float(share.result())
        0.5
    """

    def __init__(self, name: str = "share", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Counts the samples of a batch."""
        has_old = ops.not_equal(ops.reshape(y_true, (-1,)), NO_OLD_CLASS)
        super().update_state(ops.cast(has_old, self.dtype))
