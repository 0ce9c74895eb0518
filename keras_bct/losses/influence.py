"""The influence loss of backward-compatible training."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.classifier_loss import ClassifierLoss
from keras_bct.losses.labels import LabelledLoss, whole_labels

NO_OLD_CLASS = -1
"""The old label of a sample whose class the old classifier does not have."""


@keras.saving.register_keras_serializable(package="keras_bct")
class Influence(LabelledLoss):
    """The old classifier's own loss on the new embedding, where there is an old class.

    This is `L(w_c_old, phi; T_BCT)` of
    `L_BCT = L(w_c, phi; T_new) + lambda L(w_c_old, phi; T_BCT)`; lambda is the loss
    weight of the output `old`. Give it the output of a `FrozenClassifier` and the loss
    that the old model was trained with, its scale and margin included
    (`keras_bct.losses.for_classifier`).

    A sample without an old class has label -1 and counts 0. The sum over the others is
    divided by the size of the whole batch, not by their number: the share of -1 differs
    between the replicas of a `MirroredStrategy`, and a mean over each replica's own
    unmasked samples would give other gradients than one device does.

    - beta: -1 for every class that the old classifier lacks, so T_BCT is T_old.
    - beta-sys: the old classifier widened by `keras_bct.classifier.synthesize`; no
      label is -1 and T_BCT is T_new.

    Args:
        loss: The old classifier's loss, per sample.
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Raises:
        TypeError: `loss` is not a loss of this package's softmax family.

    Example:
        The second sample has no old class; the first costs log(2).

        >>> import numpy as np
        >>> from keras_bct.losses import CosFace
        >>> loss = Influence(CosFace(scale=1.0, margin=0.0))
        >>> cosines = np.array([[0.5, 0.5], [0.9, 0.1]])
        >>> round(float(loss(np.array([1, -1]), cosines)), 4)
        0.3466

    References:
        Shen et al., CVPR 2020, equation 8; docs/methods.md, section 3.
    """

    def __init__(
        self,
        loss: ClassifierLoss,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(loss, ClassifierLoss):
            raise TypeError(
                "`loss` should be the loss that the old classifier was trained with, "
                "e.g. keras_bct.losses.for_classifier(old_classifier). Received: "
                f"{loss!r}."
            )
        self.loss = loss

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the influence loss of each sample.

        Args:
            y_true: `(batch,)` whole numbers, the row of the old class or -1.
            y_pred: `(batch, old classes)`, what the `FrozenClassifier` gave.

        Returns:
            `(batch,)`, 0 where the label is -1.
        """
        labels = whole_labels(y_true)
        has_old = ops.not_equal(labels, NO_OLD_CLASS)
        # The inner loss must not see -1: cross entropy raises on it or reads the last
        # class, and a masked NaN would still be NaN in the gradient.
        values = self.loss.call(ops.where(has_old, labels, 0), y_pred)
        return ops.where(has_old, values, 0.0)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "loss": keras.saving.serialize_keras_object(self.loss),
        }
