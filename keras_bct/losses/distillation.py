"""Distillation: the new embedding should say the same to the old classifier."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.classifier_loss import ClassifierLoss, positive_number
from keras_bct.losses.old_new_loss import OldNewLoss


@keras.saving.register_keras_serializable(package="keras_bct")
class Distillation(OldNewLoss):
    """`KL(p_old || p_new)` of the old classifier's outputs, one value a sample.

    `p = softmax(logits / T)` of the old classifier without its margin, on the old
    embedding (`p_old`) and on the new one (`p_new`). Give it the output of
    `OldBesideNew` on both outputs of the `FrozenClassifier`.

    - beta-kd: the new labels, so that every sample of T_new counts; beside `Influence`
      on T_old.
    - LwF: -1 for the samples of T_old, so that the soft labels of the old model stand
      in where it has no class; beside `Influence` on T_old.

    Args:
        loss: The old classifier's loss; says how its logits are made.
        temperature: T, positive; above 1 it softens both sides. The gradient shrinks
            like 1 / T^2: raise the loss weight by T^2 to keep it.
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Raises:
        TypeError: `loss` is not a loss of this package's softmax family.
        ValueError: `temperature` is not positive.

    Example:
        p_old = (1/2, 1/2) and p_new = (1/4, 3/4): log(2) - log(3) / 2 = 0.1438.

        >>> import numpy as np
        >>> from keras_bct.losses import Softmax
        >>> logits = np.log([[[0.5, 0.5], [0.25, 0.75]]])
        >>> round(float(Distillation(Softmax())(np.array([0]), logits)), 4)
        0.1438

    References:
        Shen et al., CVPR 2020, section 2.5 (beta-kd) and table 1 (LwF); Hinton et
        al., Distilling the Knowledge in a Neural Network, 2015.
    """

    def __init__(
        self, loss: ClassifierLoss, *, temperature: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(loss, ClassifierLoss):
            raise TypeError(
                "`loss` should be the loss that the old classifier was trained with, "
                "e.g. keras_bct.losses.for_classifier(old_classifier). Received: "
                f"{loss!r}."
            )
        self.loss = loss
        self.temperature = positive_number("temperature", temperature)

    def values(self, old: Any, new: Any) -> Any:
        """Give the divergences."""
        old = ops.log_softmax(self.loss.plain_logits(old) / self.temperature, axis=-1)
        new = ops.log_softmax(self.loss.plain_logits(new) / self.temperature, axis=-1)
        return ops.sum(ops.exp(old) * (old - new), axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "loss": keras.saving.serialize_keras_object(self.loss),
            "temperature": self.temperature,
        }
