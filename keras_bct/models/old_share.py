"""How many samples have an old label, as `old_share` in the logs; none is an error."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_bct.losses.influence import NO_OLD_CLASS

_ENOUGH_STEPS = 1000


@keras.saving.register_keras_serializable(package="keras_bct")
class OldShare(keras.metrics.Mean):
    """The share of samples whose old label is not -1, over an epoch.

    Args:
        name: Of the metric.
        dtype: As in `keras.metrics.Metric`.

    Example:
        >>> import numpy as np
        >>> share = OldShare()
        >>> share.update_state(np.array([3, -1, 0, -1]))
        >>> float(share.result())
        0.5
    """

    def __init__(self, name: str = "old_share", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(
        self, y_true: Any, y_pred: Any = None, sample_weight: Any = None
    ) -> None:
        """Counts the samples of a batch; predictions and weights have no say."""
        has_old = ops.not_equal(ops.reshape(y_true, (-1,)), NO_OLD_CLASS)
        super().update_state(ops.cast(has_old, self.dtype))


class RefuseWithoutOldLabels(keras.callbacks.Callback):
    """Ends a training in which no sample has an old label, with advice.

    It waits for a whole pass over the samples. Where an epoch is a number of steps and
    no pass, it waits for 1000 of them, or for the end.

    Args:
        steps_per_epoch: As `fit` is told; None: an epoch is a pass.

    Raises:
        ValueError: `old_share` has been 0 for so long.
    """

    def __init__(self, steps_per_epoch: int | None) -> None:
        super().__init__()
        self._steps_per_epoch = math.inf if steps_per_epoch is None else steps_per_epoch
        self._steps_without: float = 0

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Looks at the share."""
        share = (logs or {}).get("old_share")
        if share is None or share > 0:
            # Also from now on: a class that the old model knows was there.
            self._steps_without = -math.inf
        self._steps_without += self._steps_per_epoch
        if self._steps_without >= _ENOUGH_STEPS:
            self._refuse()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Refuses a training that was shorter."""
        if self._steps_without > 0:
            self._refuse()

    def _refuse(self) -> None:
        raise ValueError(
            "Some sample should have an old label: where all are -1, nothing ties the "
            "new model to the old one. Received: none in all that was trained on. Join "
            "labels by class name, `old_classifier.labels(names)`, with names as the "
            "old classifier has them in `class_names`. If all classes are new, give "
            "the old classifier rows for them (keras_bct.classifier.synthesize), or "
            "train without it."
        )
