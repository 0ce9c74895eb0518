"""The model that backward-compatible training fits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import keras

from keras_bct.classifier import Classifier
from keras_bct.layers.frozen_classifier import FrozenClassifier
from keras_bct.layers.old_beside_new import OldBesideNew
from keras_bct.losses.influence import Influence
from keras_bct.losses.old_new_loss import OldNewLoss
from keras_bct.models.old_share import OldShare, RefuseWithoutOldLabels

TERMS = ("distillation", "embeddings")
"""Outputs that compare old and new embeddings, for `terms`."""


@keras.saving.register_keras_serializable(package="keras_bct")
class CompatibleModel(keras.Model):
    """A functional model that says how many of its samples have an old label.

    Compiled with a loss that leaves out the samples without one (`Influence`, or where
    there is none `L2` or `Distillation`), it has `old_share` among its metrics, and
    `fit` refuses a training in which no sample has an old label: it would be one
    without compatibility.

    Args:
        *args: As of `keras.Model`.
        **kwargs: As of `keras.Model`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.old_share = OldShare()

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """The metrics, with `old_share` where a loss asks for old labels."""
        asked = bool(self._outputs_with_old_labels())
        return [each for each in super().metrics if asked or each is not self.old_share]

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """Gives the compiled loss, and counts old labels."""
        labels = self._by_output(y)
        for output in self._outputs_with_old_labels():
            self.old_share.update_state(labels[output])
        return super().compute_loss(x, y, y_pred, sample_weight, training)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Trains as `keras.Model.fit` does.

        Raises:
            ValueError: No sample has an old label, and a loss needs it.
        """
        if self._outputs_with_old_labels():
            check = RefuseWithoutOldLabels(kwargs.get("steps_per_epoch"))
            if isinstance(callbacks, keras.callbacks.CallbackList):
                callbacks.append(check)
            else:
                callbacks = [check, *keras.tree.flatten(callbacks or [])]
        return super().fit(x, y, batch_size, epochs, verbose, callbacks, **kwargs)

    def _outputs_with_old_labels(self) -> list[str]:
        """The outputs whose labels say which samples have an old class."""
        compiled = self._by_output(getattr(self, "loss", None) or {})
        for kind in (Influence, OldNewLoss):
            found = [name for name, loss in compiled.items() if isinstance(loss, kind)]
            if found:
                return found
        return []

    def _by_output(self, values: Any) -> Mapping[str, Any]:
        """Losses or labels by output, where they are given in the outputs' order."""
        if isinstance(values, Mapping):
            return values
        return dict(zip(self.output_names, keras.tree.flatten(values), strict=False))


def compatible_model(
    backbone: keras.Model,
    head: keras.Layer,
    old_classifier: Classifier | Mapping[str, Classifier] | None = None,
    *,
    terms: Collection[str] = (),
    old_model: keras.Layer | None = None,
    old_embedding_size: int | None = None,
    size_map: keras.Layer | None = None,
) -> CompatibleModel:
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
            embedding size, or a term lacks what it needs. In `fit`: no sample has an
            old label.

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
    return CompatibleModel(
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
