"""How many samples have an old label, as `old_share` in the logs."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.influence import NO_OLD_CLASS


@keras.saving.register_keras_serializable(package="keras_bct")
class OldShare(keras.metrics.Mean):
    """The share of samples whose old label is not -1, over an epoch.

    Compile it on the output of a term that counts the samples of old classes; see
    `OldShareName`.

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


class OldShareName(keras.callbacks.Callback):
    """Calls the share `old_share` in the logs, whichever output it is compiled on.

    Keras puts the output's name before a metric's: `embeddings_share` for `l2`.

    Args:
        output: The output that it is compiled on.
    """

    def __init__(self, output: str) -> None:
        super().__init__()
        self._compiled = f"{output}_share"

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Renames it, for the callbacks after this one."""
        if logs is not None:
            logs["old_share"] = logs.pop(self._compiled)
