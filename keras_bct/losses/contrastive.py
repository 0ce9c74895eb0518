"""RACT's contrastive term: new embeddings among old and new ones of the batch."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.across_replicas import gathered
from keras_bct.losses.classifier_loss import positive_number
from keras_bct.losses.labels import LabelledLoss, whole_labels

# The shortest length that is divided by; see `keras_bct.layers.cosine_head`.
_SHORTEST = 1e-12


@keras.saving.register_keras_serializable(package="keras_bct")
class Contrastive(LabelledLoss):
    """Each new embedding against the batch's old and new embeddings, one value each.

    For the new embedding q of a sample, positives are the old embeddings of its class,
    its own included; negatives are the old and the new embeddings of other classes:

        mean over p_old of -log( e^{s(q,p_old)/T} / (e^{s(q,p_old)/T}
            + sum over n of [e^{s(q,n_old)/T} + e^{s(q,n_new)/T}]) )

    s is the cosine. Under a `MirroredStrategy` positives and negatives are gathered
    from every replica, with gradients, so the value does not depend on how the batch
    is shared out. Memory grows with the square of the whole batch.

    Args:
        temperature: T, positive.
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Example:
        Two classes; each q lies on its own old embedding and at right angles to the
        other class: log(1 + 2 e^{-1/T}), with T = 1.

        >>> import numpy as np
        >>> vectors = np.stack([np.eye(2), np.eye(2)], axis=1)
        >>> loss = Contrastive(temperature=1.0)
        >>> round(float(loss(np.array([0, 1]), vectors)), 4)
        0.5514

    References:
        docs/methods.md, section 3; Zhang et al., Hot-Refresh Model Upgrades with
        Regression-Alleviating Compatible Training in Image Retrieval, ICLR 2022.
    """

    def __init__(
        self,
        *,
        temperature: float = 0.05,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.temperature = positive_number("temperature", temperature)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the contrastive loss of each sample.

        Args:
            y_true: `(batch,)` classes, whole numbers.
            y_pred: `(batch, 2, d)` old and new embeddings, what `OldBesideNew` gives.

        Returns:
            `(batch,)`.
        """
        labels = whole_labels(y_true)
        squares = ops.sum(ops.square(y_pred), axis=-1, keepdims=True)
        vectors = y_pred * ops.rsqrt(ops.maximum(squares, _SHORTEST**2))
        queries = vectors[:, 1]
        keys, key_labels = gathered(vectors), gathered(labels)
        to_old = ops.matmul(queries, ops.transpose(keys[:, 0])) / self.temperature
        to_new = ops.matmul(queries, ops.transpose(keys[:, 1])) / self.temperature
        same = ops.equal(labels[:, None], key_labels[None])
        negatives = ops.logsumexp(
            ops.where(
                ops.concatenate([same, same], axis=1),
                -1e30,
                ops.concatenate([to_old, to_new], axis=1),
            ),
            axis=1,
            keepdims=True,
        )
        # -log(e^p / (e^p + e^n)) = log(1 + e^(n - p))
        values = ops.where(same, ops.softplus(negatives - to_old), 0.0)
        return ops.sum(values, axis=1) / ops.sum(ops.cast(same, values.dtype), axis=1)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "temperature": self.temperature,
        }
