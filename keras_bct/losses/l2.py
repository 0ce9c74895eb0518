"""The l2 term: pull the new embedding to the old one."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.old_new_loss import OldNewLoss


@keras.saving.register_keras_serializable(package="keras_bct")
class L2(OldNewLoss):
    """Half the squared distance of old and new embedding, one value a sample.

    `1/2 |phi(x) - phi_old(x)|^2` over T_old, on raw embeddings: give it the output of
    `OldBesideNew` and the old labels, -1 outside T_old. The paper found that it does
    not make a model compatible.

    Args:
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Example:
        >>> import numpy as np
        >>> vectors = np.array([[[0.0, 0.0], [3.0, 4.0]]])
        >>> float(L2()(np.array([7]), vectors))
        12.5

    References:
        Shen et al., CVPR 2020, equation 3.
    """

    def values(self, old: Any, new: Any) -> Any:
        """Give half the squared distances."""
        return 0.5 * ops.sum(ops.square(new - old), axis=-1)
