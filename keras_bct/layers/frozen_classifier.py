"""The old model's classifier, frozen, fed with the new model's embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bct.classifier import COSINE_KINDS, Classifier
from keras_bct.layers.cosine_head import cosines, cosines_and_length


@keras.saving.register_keras_serializable(package="keras_bct")
class FrozenClassifier(keras.Layer):
    """New embedding `(batch, d_new)` to the old classifier's cosines or logits.

    It has no trainable weights. Where the new embedding is the wider one, its first
    d_old components are taken (cut first, normalised after). The cosine kinds give
    cosines, the others `<x, W_c> + b_c`; the loss adds the old scale and margin
    (`keras_bct.losses.for_classifier`).

    Args:
        classifier: The old classifier.
        **kwargs: `name` and the like of `keras.Layer`.

    Raises:
        ValueError: The embedding has fewer components than the old classifier.

    Example:
        >>> import numpy as np
        >>> from keras_bct.classifier import Classifier
        >>> old = Classifier("cosface", np.eye(2), ("ka", "ki"), scale=30.0, margin=0.4)
        >>> layer = FrozenClassifier(old)
        >>> layer(np.array([[3.0, 4.0, 99.0]], "float32")).numpy().round(1)
        array([[0.6, 0.8]], dtype=float32)
        >>> layer.trainable_weights
        []

    References:
        Shen et al., CVPR 2020, equation 8: L(w_c_old, phi; T_BCT).
    """

    def __init__(self, classifier: Classifier, **kwargs: Any) -> None:
        kwargs.setdefault("dtype", "float32")
        kwargs["trainable"] = False
        super().__init__(**kwargs)
        if not isinstance(classifier, Classifier):
            raise TypeError(
                "`classifier` should be a keras_bct.classifier.Classifier, as "
                "Classifier.load(version / 'assets.extra') gives it. Received: "
                f"{type(classifier).__name__}."
            )
        self._old = classifier

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Take over the old rows."""
        size, needed = input_shape[-1], self._old.embedding_size
        if len(input_shape) != 2 or size is None or size < needed:
            raise ValueError(
                f"The frozen classifier takes {needed} components, so the embedding "
                f"should have shape (batch, {needed}) or wider. Received: input shape "
                f"{tuple(input_shape)}; to train against an old classifier give the "
                f"new backbone embedding_size={needed} or more."
            )
        self.kernel = self._constant("kernel", self._old.weights)
        self.bias = None
        if self._old.bias is not None:
            self.bias = self._constant("bias", self._old.bias)

    def call(self, embeddings: Any) -> Any:
        """Give the old classifier's cosines or logits of the new embedding."""
        embeddings = embeddings[:, : self._old.embedding_size]
        if self._has_length:
            return cosines_and_length(embeddings, self.kernel)
        if self._old.kind in COSINE_KINDS:
            return cosines(embeddings, self.kernel)
        logits = ops.matmul(embeddings, ops.transpose(self.kernel))
        return logits if self.bias is None else logits + self.bias

    @property
    def _has_length(self) -> bool:
        return self._old.kind == "sphereface" and self._old.scale is None

    @property
    def classifier(self) -> Classifier:
        """The old classifier, with the rows that the layer holds."""
        if not self.built:
            return self._old
        bias = None if self.bias is None else ops.convert_to_numpy(self.bias)
        return replace(self._old, weights=ops.convert_to_numpy(self.kernel), bias=bias)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Give `(batch, classes)`; one more for the original SphereFace's length."""
        return (input_shape[0], self._old.classes + int(self._has_length))

    def get_config(self) -> dict[str, Any]:
        """Give the old classifier's form and class names; its rows are weights."""
        config = super().get_config()
        del config["trainable"]
        return {
            **config,
            "kind": self._old.kind,
            "class_names": list(self._old.class_names),
            "embedding_size": self._old.embedding_size,
            "use_bias": self._old.bias is not None,
            "scale": self._old.scale,
            "margin": self._old.margin,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> FrozenClassifier:
        """Make the layer again, its rows still to be loaded.

        Until they are, they are NaN: a model whose old rows were never loaded shows it
        in its first loss.
        """
        config = dict(config)
        names = config.pop("class_names")
        size, use_bias = config.pop("embedding_size"), config.pop("use_bias")
        form = {field: config.pop(field) for field in ("kind", "scale", "margin")}
        layer = cls(
            Classifier(
                weights=np.ones((len(names), size), np.float32),
                class_names=tuple(names),
                bias=np.zeros(len(names), np.float32) if use_bias else None,
                **form,
            ),
            **config,
        )
        layer._rows_are_loaded = False
        return layer

    # from_config sets it to False on the layer that it makes.
    _rows_are_loaded = True

    def _constant(self, name: str, values: Any) -> Any:
        if not self._rows_are_loaded:
            values = np.full_like(values, np.nan)
        return self.add_weight(
            name=name,
            shape=values.shape,
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(values, dtype),
            trainable=False,
        )
