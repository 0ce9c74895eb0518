"""The model that backward-compatible training fits."""

from __future__ import annotations

import keras

from keras_bct.classifier import Classifier
from keras_bct.layers.frozen_classifier import FrozenClassifier


def compatible_model(
    backbone: keras.Model,
    head: keras.Layer,
    old_classifier: Classifier | None = None,
) -> keras.Model:
    """Put a new head, and the old classifier where there is one, on one backbone.

    Compile it with one loss an output; the loss weight of `old` is lambda:

        model.compile(
            "adam",
            loss={"new": CosFace(scale=24, margin=0.3),
                  "old": Influence(for_classifier(old_classifier))},
            loss_weights={"new": 1.0, "old": 1.0},
        )

    Args:
        backbone: Picture to embedding `(batch, d)`. It is used, not copied: after
            `fit` it is the trained embedding model.
        head: The new classifier head, e.g. `CosineHead(classes)`.
        old_classifier: The predecessor's classifier, widened by `synthesize` for
            beta-sys; None trains the first version, or an independent one.

    Returns:
        A functional model with the outputs `new` and, with an old classifier, `old`,
        both `(batch, classes)`.

    Raises:
        ValueError: The backbone's output is not `(batch, d)`, or d is smaller than the
            old classifier's embedding size.

    Example:
        >>> import numpy as np
        >>> from keras_bct.layers import CosineHead
        >>> old = Classifier("cosface", np.eye(4), ("a", "b", "c", "d"), None, 24, 0.3)
        >>> backbone = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        >>> model = compatible_model(backbone, CosineHead(6), old)
        >>> {name: output.shape for name, output in model.output.items()}
        {'new': (None, 6), 'old': (None, 4)}

    References:
        Shen et al., CVPR 2020, figure 2.
    """
    shape = getattr(backbone, "output_shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[-1] is None:
        raise ValueError(
            "`backbone` should have one output of shape (batch, d) with d known. "
            f"Received: output shape {shape}."
        )
    if old_classifier is not None and shape[-1] < old_classifier.embedding_size:
        raise ValueError(
            f"`old_classifier` takes {old_classifier.embedding_size} components, but "
            f"`backbone` gives {shape[-1]}. Give the backbone "
            f"{old_classifier.embedding_size} components or more; of a wider embedding "
            "the first ones are compared."
        )
    pictures = keras.Input(
        backbone.input_shape[1:], dtype=backbone.inputs[0].dtype, name="image"
    )
    embeddings = backbone(pictures)
    outputs = {"new": head(embeddings)}
    if old_classifier is not None:
        outputs["old"] = FrozenClassifier(old_classifier, name="old_classifier")(
            embeddings
        )
    return keras.Model(pictures, outputs, name="compatible_model")
