"""The model that backward-compatible training fits."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import keras

from keras_bct.classifier import Classifier
from keras_bct.layers.frozen_classifier import FrozenClassifier
from keras_bct.layers.old_beside_new import OldBesideNew

TERMS = ("distillation", "embeddings")
"""Outputs that compare old and new embeddings, for `terms`."""


def compatible_model(
    backbone: keras.Model,
    head: keras.Layer,
    old_classifier: Classifier | Mapping[str, Classifier] | None = None,
    *,
    terms: Collection[str] = (),
    old_model: keras.Layer | None = None,
    old_embedding_size: int | None = None,
    size_map: keras.Layer | None = None,
) -> keras.Model:
    """Put a new head, and the old classifier where there is one, on one backbone.

    Compile it with one loss an output; the loss weight of `old` is lambda:

        model.compile(
            "adam",
            loss={"new": CosFace(scale=24, margin=0.3),
                  "old": Influence(for_classifier(old_classifier))},
            loss_weights={"new": 1.0, "old": 1.0},
            jit_compile=False,  # on a CPU: Keras's "auto" is XLA, twice as slow there
        )

    The terms beside the influence loss compare the old embedding of a picture with the
    new one, so they need the old embedding: either `old_model` computes it from the
    same batch, or it is a second input `old_embedding`, read from the data set. The
    inputs of such a data set are `{"image": ..., "old_embedding": ...}`.

    | output | its loss | label of a sample |
    |---|---|---|
    | `new` | `CosFace`, ... | row of the new class |
    | `old` | `Influence` | row of the old class, or -1 |
    | `distillation` | `Distillation` | any but -1 to count (beta-kd), or -1 |
    | `embeddings` | `L2` | any but -1 to count, or -1 |
    | `embeddings` | `Contrastive` | row of the new class |

    Args:
        backbone: Picture to embedding `(batch, d)`. It is used, not copied: after
            `fit` it is the trained embedding model.
        head: The new classifier head, e.g. `CosineHead(classes)`.
        old_classifier: The predecessor's classifier, widened by `synthesize` for
            beta-sys; None trains the first version, or an independent one. Several
            predecessors: a mapping from the name of an output to a classifier.
        terms: Any of `TERMS`: further outputs, see above.
        old_model: A layer from pictures to old embeddings, e.g. `FrozenEmbedder`; None
            makes `old_embedding` an input where a term needs it.
        old_embedding_size: d_old, where `old_embedding` is an input and there is no
            old classifier to tell it.
        size_map: A trainable layer from the new embedding to d_old components, in
            place of taking the first ones. The paper tried a linear map and it failed.

    Returns:
        A functional model with the output `new`, one for each old classifier (`old`
        where there is one), all `(batch, classes)`, and `(batch, 2, n)` for each term.

    Raises:
        ValueError: The backbone's output is not `(batch, d)`, d is smaller than an old
            embedding size, or a term lacks what it needs.

    Example:
        >>> import numpy as np
        >>> from keras_bct.layers import CosineHead
        >>> old = Classifier("cosface", np.eye(4), ("a", "b", "c", "d"), None, 24, 0.3)
        >>> backbone = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        >>> model = compatible_model(backbone, CosineHead(6), old)
        >>> {name: output.shape for name, output in model.output.items()}
        {'new': (None, 6), 'old': (None, 4)}

    References:
        Shen et al., CVPR 2020, figure 2 and equation 8; section 2.5 for the terms.
    """
    size = _embedding_size(backbone)
    if old_classifier is None:
        classifiers: Mapping[str, Classifier] = {}
    elif isinstance(old_classifier, Classifier):
        classifiers = {"old": old_classifier}
    else:
        classifiers = old_classifier
    _check(classifiers, terms, size if size_map is None else None)
    pictures = keras.Input(
        backbone.input_shape[1:], dtype=backbone.inputs[0].dtype, name="image"
    )
    inputs = {"image": pictures}
    embeddings = backbone(pictures)
    for_old = embeddings if size_map is None else size_map(embeddings)
    outputs = {"new": head(embeddings)}
    frozen = {
        name: FrozenClassifier(classifier, name=f"{name}_classifier")
        for name, classifier in classifiers.items()
    }
    for name, layer in frozen.items():
        outputs[name] = layer(for_old)
    if terms:
        if old_model is not None:
            old_embeddings = old_model(pictures)
        else:
            if old_embedding_size is None and classifiers:
                old_embedding_size = next(iter(classifiers.values())).embedding_size
            if old_embedding_size is None:
                raise ValueError(
                    "`terms` compare old and new embeddings. Give `old_model`, or "
                    "`old_embedding_size` where the data set carries `old_embedding`."
                )
            old_embeddings = keras.Input((old_embedding_size,), name="old_embedding")
            inputs["old_embedding"] = old_embeddings
        if "embeddings" in terms:
            outputs["embeddings"] = OldBesideNew(name="old_beside_new")(
                [old_embeddings, for_old]
            )
        if "distillation" in terms:
            (name,) = frozen
            outputs["distillation"] = OldBesideNew(name="old_outputs_beside_new")(
                [frozen[name](old_embeddings), outputs[name]]
            )
    return keras.Model(
        inputs if len(inputs) > 1 else pictures, outputs, name="compatible_model"
    )


def _embedding_size(backbone: keras.Model) -> int:
    shape = getattr(backbone, "output_shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[-1] is None:
        raise ValueError(
            "`backbone` should have one output of shape (batch, d) with d known. "
            f"Received: output shape {shape}."
        )
    return int(shape[-1])


def _check(
    classifiers: Mapping[str, Classifier], terms: Collection[str], size: int | None
) -> None:
    """Refuse arguments that do not fit together, before any layer is made."""
    for name, classifier in classifiers.items():
        if size is not None and size < classifier.embedding_size:
            raise ValueError(
                f"`old_classifier` takes {classifier.embedding_size} components, but "
                f"`backbone` gives {size}. Give the backbone "
                f"{classifier.embedding_size} components or more; of a wider embedding "
                "the first ones are compared."
            )
        if name in ("new", *TERMS):
            raise ValueError(
                f"An old classifier's output should not be named {name!r}, which is "
                "another output's name."
            )
    unknown = sorted(set(terms) - set(TERMS))
    if unknown:
        raise ValueError(
            f"`terms` should be among {', '.join(TERMS)}. Received: {unknown}."
        )
    if "distillation" in terms and len(classifiers) != 1:
        raise ValueError(
            "The term 'distillation' needs one old classifier. Received: "
            f"{len(classifiers)}; train against one predecessor at a time."
        )
