"""The shared base of the losses that compare an old vector with a new one."""

from __future__ import annotations

import abc
from typing import Any

from keras import ops

from keras_bct.losses.influence import NO_OLD_CLASS
from keras_bct.losses.labels import LabelledLoss, whole_labels
from keras_bct.losses.refuse_unless import refuse_unless


class OldNewLoss(LabelledLoss):
    """A distance between what the old and the new model say of a sample.

    A subclass gives it in `values`. Labels choose which samples count: those with -1
    do not. As under `Influence`, the sum over the others is divided by the size of the
    whole batch.

    Args:
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.
    """

    @abc.abstractmethod
    def values(self, old: Any, new: Any) -> Any:
        """Give the distance of each sample.

        Args:
            old: `(batch, n)`.
            new: `(batch, n)`.
        """

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the loss of each sample.

        Args:
            y_true: `(batch,)` whole numbers; -1 leaves a sample out.
            y_pred: `(batch, 2, n)`, what `OldBesideNew` gives.

        Returns:
            `(batch,)`, 0 where the label is -1.
        """
        labels = whole_labels(y_true)
        labels = refuse_unless(
            labels >= NO_OLD_CLASS,
            labels,
            "Labels should be row numbers, or -1 to leave a sample out.",
        )
        counts = ops.not_equal(labels, NO_OLD_CLASS)
        # A sample left out may lack an old vector (NaN), and a masked NaN would still
        # be NaN in the gradient: compare its new vector with itself instead.
        new = y_pred[:, 1]
        # Old and new come as one tensor, so that a gradient would be computed for the
        # old one too, as much work as the new one's, and thrown away behind it.
        old = ops.stop_gradient(ops.where(counts[:, None], y_pred[:, 0], new))
        return ops.where(counts, self.values(old, new), 0.0)
