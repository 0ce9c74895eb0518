"""From a stored classifier back to the loss that it was trained with."""

from __future__ import annotations

from typing import Any

from keras_bct.classifier import Classifier
from keras_bct.losses.arcface import ArcFace
from keras_bct.losses.classifier_loss import ClassifierLoss
from keras_bct.losses.cosface import CosFace
from keras_bct.losses.normsoftmax import NormSoftmax
from keras_bct.losses.softmax import Softmax
from keras_bct.losses.sphereface import SphereFace


def for_classifier(classifier: Classifier, **kwargs: Any) -> ClassifierLoss:
    """Give the loss of a classifier's kind, with its scale and margin.

    Under BCT the old classifier keeps its own form: `Influence(for_classifier(old))`.

    Args:
        classifier: The old classifier.
        **kwargs: `name` and `reduction` as in `keras.losses.Loss`.

    Raises:
        ValueError: The classifier lacks the scale or the margin that its kind needs.

    Example:
        >>> import numpy as np
        >>> old = Classifier("cosface", np.eye(2), ("ka", "ki"), scale=30.0, margin=0.4)
        >>> for_classifier(old).margin
        0.4
    """
    losses: dict[str, tuple[type[ClassifierLoss], tuple[str, ...]]] = {
        "softmax": (Softmax, ()),
        "simplex": (Softmax, ()),
        "normsoftmax": (NormSoftmax, ("scale",)),
        # Without a scale it is the original, scaled by the embedding's length.
        "sphereface": (SphereFace, ("margin",)),
        "cosface": (CosFace, ("scale", "margin")),
        "arcface": (ArcFace, ("scale", "margin")),
    }
    loss, needed = losses[classifier.kind]
    fields = {field: getattr(classifier, field) for field in needed}
    if classifier.kind == "sphereface":
        fields["scale"] = classifier.scale
    for field in needed:
        if getattr(classifier, field) is None:
            raise ValueError(
                f"A classifier of kind {classifier.kind!r} needs `{field}`. Received: "
                f"{field}=None; give the {field} that the old model was trained with."
            )
    return loss(**fields, **kwargs)
