"""L_l2+disc: the alignment loss before uncertainty."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.losses.classifier_loss import ClassifierLoss
from keras_bct.losses.feature_alignment import FeatureAlignment
from keras_bct.losses.influence import Influence
from keras_bct.losses.labels import LabelledLoss


@keras.saving.register_keras_serializable(package="keras_bct")
class Alignment(LabelledLoss):
    """`L_l2 + weight * L_disc`, one value a sample.

    `L_disc` is the loss that the *new* model was trained with, on what the new model's
    own frozen classifier says of the aligned embedding: the influence loss of BCT
    turned round, so old and new classes need not overlap. A sample whose class the new
    classifier lacks has label -1 and counts in L_l2 alone.

    It takes dictionaries, as `AlignmentModel` gives and is given them.

    Args:
        features: L_l2, or None to leave it out.
        discriminative: The new classifier's loss
            (`keras_bct.losses.for_classifier(classifier)`), or None to leave it out:
            then it is FCT.
        discriminative_weight: Of L_disc; 1 in the paper.
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Raises:
        TypeError: A term is of another type.
        ValueError: Both terms are left out, or the weight is negative.

    Example:
        The squared distance is 1; both classes score alike, which costs log(2).

        >>> import numpy as np
        >>> from keras_bct.losses import Softmax
        >>> loss = Alignment(FeatureAlignment("sum"), Softmax())
        >>> truth = {"embedding": np.array([[1.0, 0.0]]), "label": np.array([1])}
        >>> aligned = {"embedding": np.zeros((1, 2)), "classes": np.zeros((1, 2))}
        >>> round(float(loss(truth, aligned)), 4)
        1.6931

    References:
        Jaeckle et al., FastFill, ICLR 2023, equation 3.
    """

    def __init__(
        self,
        features: FeatureAlignment | None,
        discriminative: ClassifierLoss | None = None,
        *,
        discriminative_weight: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if features is None and discriminative is None:
            raise ValueError(
                "`features` and `discriminative` should not both be None: nothing "
                "would be left to train on."
            )
        if not isinstance(features, FeatureAlignment | None):
            raise TypeError(
                "`features` should be a keras_bct.losses.FeatureAlignment or None. "
                f"Received: {features!r}."
            )
        if not isinstance(discriminative, ClassifierLoss | None):
            raise TypeError(
                "`discriminative` should be the loss of the new model's classifier, "
                "e.g. keras_bct.losses.for_classifier(classifier), or None. "
                f"Received: {discriminative!r}."
            )
        if not 0 <= discriminative_weight < float("inf"):
            raise ValueError(
                "`discriminative_weight` should be a number, zero or more. "
                f"Received: {discriminative_weight!r}."
            )
        self.features = features
        self.discriminative = discriminative
        self.discriminative_weight = float(discriminative_weight)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the loss of each sample.

        Args:
            y_true: `embedding` `(batch, d)`, the new embeddings; `label` `(batch,)`,
                rows of the new classifier or -1, where `discriminative` needs them.
            y_pred: `embedding` `(batch, d)`, aligned; `classes` `(batch, classes)`,
                what the new classifier says of it, where `discriminative` needs it.

        Returns:
            `(batch,)`.
        """
        return sum(self.terms(y_true, y_pred).values())

    def terms(self, y_true: Any, y_pred: Any) -> dict[str, Any]:
        """Give both terms of each sample, weighted, by name."""
        terms = {}
        if self.features is not None:
            terms["features"] = self.features.call(
                ops.cast(y_true["embedding"], y_pred["embedding"].dtype),
                y_pred["embedding"],
            )
        if self.discriminative is not None:
            terms["discriminative"] = self.discriminative_weight * Influence(
                self.discriminative
            ).call(y_true["label"], y_pred["classes"])
        return terms

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "features": _serialised(self.features),
            "discriminative": _serialised(self.discriminative),
            "discriminative_weight": self.discriminative_weight,
        }


def _serialised(loss: keras.losses.Loss | None) -> Any:
    return None if loss is None else keras.saving.serialize_keras_object(loss)
