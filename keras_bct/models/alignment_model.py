"""The model that FastFill fits on stored embeddings."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import (
    embedding_rows,
    float32_rows,
    refuse_not_finite,
)
from keras_bct.layers.frozen_classifier import FrozenClassifier

INPUTS = ("old_embedding", "side_information")
"""What the model takes, in the order in which the map takes it."""
_ARGUMENTS = {"old_embedding": "old", "side_information": "side_information"}


@keras.saving.register_keras_serializable(package="keras_bct")
class AlignmentModel(keras.Model):
    """h, psi on what it gives, and the new model's own classifier on it, frozen.

    Its inputs are a dictionary: `old_embedding` `(batch, d_old)` and, where the map
    takes it, `side_information` `(batch, d_s)`. Its outputs are another: `embedding`
    `(batch, d_new)`, `log_variance` `(batch, variances)` with an uncertainty head, and
    `classes` `(batch, classes)` with a classifier. It is compiled with one loss, on
    all of them, and fitted on stored embeddings; no picture is embedded again:

        model.compile("adam", loss=FastFill(Alignment(...)), jit_compile=False)
        model.fit({"old_embedding": old}, {"embedding": new, "label": labels})

    Under a `MirroredStrategy` the losses and the map's regularisers are divided among
    the replicas as Keras does it; give it batches of one size.

    Args:
        alignment_map: The layer h, called with `(old, side)`: `AlignmentMap` or any
            other.
        uncertainty: The layer psi, or None.
        classifier: The new model's classifier as a frozen layer, or None.
        unit_length: Whether what goes in is brought to unit length first, for models
            whose embeddings are compared by cosine.
        **kwargs: `name` and the like of `keras.Model`.

    Raises:
        ValueError: When it is built: the classifier takes another number of
            components than the map gives.

    Example:
        >>> from keras_bct.layers import AlignmentMap, UncertaintyHead
        >>> model = AlignmentModel(AlignmentMap(3, hidden_size=8), UncertaintyHead())
        >>> outputs = model({"old_embedding": np.ones((2, 5), "float32")})
        >>> {name: tuple(output.shape) for name, output in outputs.items()}
        {'embedding': (2, 3), 'log_variance': (2, 1)}

    References:
        Jaeckle et al., FastFill, ICLR 2023, section 4 and figure 1.
    """

    def __init__(
        self,
        alignment_map: keras.Layer,
        uncertainty: keras.Layer | None = None,
        classifier: FrozenClassifier | None = None,
        *,
        unit_length: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.alignment_map = alignment_map
        self.uncertainty = uncertainty
        self.classifier = classifier
        self.unit_length = bool(unit_length)
        self.input_sizes: dict[str, int] = {}

    def build(self, input_shape: dict[str, Any]) -> None:
        """Build the layers for the sizes that go in."""
        self.input_sizes = {
            name: int(input_shape[name][-1]) for name in INPUTS if name in input_shape
        }
        shapes = [(None, size) for size in self.input_sizes.values()]
        if not self.alignment_map.built:
            self.alignment_map.build(*shapes)
        aligned = (None, self.alignment_map.compute_output_shape(*shapes)[-1])
        known = self.classifier
        if known is not None and known.classifier.embedding_size != aligned[1]:
            raise ValueError(
                "`classifier` should be the new model's and take the "
                f"{aligned[1]} components that the map gives. Received: one of "
                f"{known.classifier.embedding_size}; is it the old model's?"
            )
        for layer in (self.uncertainty, self.classifier):
            if layer is not None and not layer.built:
                layer.build(aligned)

    def call(self, inputs: dict[str, Any], training: bool | None = None) -> Any:
        """Give the aligned embedding and what follows from it."""
        outputs = self.aligned(inputs, training)
        if self.classifier is not None:
            outputs["classes"] = self.classifier(outputs["embedding"])
        return outputs

    def aligned(
        self, inputs: dict[str, Any], training: bool | None = False
    ) -> dict[str, Any]:
        """Give `embedding` and `log_variance` alone; the classifier is not asked."""
        given = [name for name in INPUTS if name in inputs]
        if self.built and given != list(self.input_sizes):
            raise ValueError(
                f"`inputs` should be {' and '.join(self.input_sizes)}, which the model "
                f"was built for. Received: {' and '.join(given) or 'none of them'}."
            )
        rows = [inputs[name] for name in given]
        if self.unit_length:
            rows = [ops.normalize(each, axis=-1, epsilon=1e-12) for each in rows]
        embedding = self.alignment_map(*rows, training=training)
        outputs = {"embedding": embedding}
        if self.uncertainty is not None:
            outputs["log_variance"] = self.uncertainty(embedding)
        return outputs

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """Give the compiled loss of all outputs together, and the regularisers."""
        total = self.loss(y, y_pred, sample_weight=sample_weight)
        # Every replica has the same weights; their sum must count once.
        share = 1.0 / self.distribute_strategy.num_replicas_in_sync
        for value in self.losses:
            total = total + share * value
        return total

    def transform(
        self,
        old: NDArray[Any],
        side_information: NDArray[Any] | None = None,
        *,
        batch_size: int = 4096,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Align embeddings, in batches; the classifier is not asked.

        Args:
            old: `(n, d_old)` raw embeddings of the old version.
            side_information: `(n, d_s)`, where the map was trained with it.
            batch_size: How many are aligned together.

        Returns:
            `(n, d_new)`, and `log sigma^2` `(n, variances)` or None.

        Raises:
            ValueError: Other sizes, side information that the model does not take or a
                lack of what it does, NaN or infinity, or no positive `batch_size`.
            TypeError: No floating type.
        """
        if batch_size < 1:
            raise ValueError(
                f"`batch_size` should be at least 1. Received: {batch_size}."
            )
        sides = self._checked(old, side_information)
        aligned, variances = [], []
        # No rows are a batch, too: an empty one, which tells the sizes.
        for start in range(0, max(len(old), 1), batch_size):
            inputs = {}
            for name, side in sides.items():
                rows, argument = side[start : start + batch_size], _ARGUMENTS[name]
                refuse_not_finite(argument, rows, start)
                inputs[name] = ops.convert_to_tensor(
                    float32_rows(argument, rows, start)
                )
            outputs = self.aligned(inputs)
            aligned.append(ops.convert_to_numpy(outputs["embedding"]))
            if "log_variance" in outputs:
                variances.append(ops.convert_to_numpy(outputs["log_variance"]))
        return np.concatenate(aligned), np.concatenate(variances) if variances else None

    def _checked(
        self, old: NDArray[Any], side: NDArray[Any] | None
    ) -> dict[str, NDArray[Any]]:
        """The inputs by name, of the sizes that the model was built for."""
        given = dict(zip(INPUTS, (old, side), strict=True))
        sides = {}
        for name, rows in given.items():
            argument, size = _ARGUMENTS[name], self.input_sizes.get(name)
            if self.built and (rows is None) != (size is None):
                wanted = "be left out" if size is None else f"have shape (n, {size})"
                raise ValueError(
                    f"`{argument}` should {wanted}, as in training. Received: "
                    f"{'None' if rows is None else f'shape {np.shape(rows)}'}."
                )
            if rows is not None:
                sides[name] = embedding_rows(argument, rows, size)
                if len(sides[name]) != len(old):
                    raise ValueError(
                        f"`{argument}` should have a row for each of {len(old)} "
                        f"embeddings. Received: {len(sides[name])}."
                    )
        return sides

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            "name": self.name,
            "unit_length": self.unit_length,
            **{
                name: None
                if layer is None
                else keras.saving.serialize_keras_object(layer)
                for name, layer in (
                    ("alignment_map", self.alignment_map),
                    ("uncertainty", self.uncertainty),
                    ("classifier", self.classifier),
                )
            },
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> AlignmentModel:
        """Make the model again, its weights still to be loaded."""
        layers = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in ("alignment_map", "uncertainty", "classifier")
        }
        return cls(**{**config, **layers})
