"""What the trainable heads share: one row of weights a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import keras
import numpy as np
from numpy.typing import NDArray

from keras_bct.checked_numbers import plain_seed
from keras_bct.classifier import Classifier, Names
from keras_bct.losses.classifier_loss import ClassifierLoss
from keras_bct.text_column import text_column


class ClassifierHead(keras.Layer):
    """A head with weights `(classes, d)`; a subclass says how they meet the embedding.

    Heads compute in float32 under every dtype policy: a cosine in half precision is
    coarser than the margins that are taken from it.

    Args:
        classes: The number of classes, at least 2.
        kernel_initializer: Initialiser of the rows; Glorot's uniform one by default.
        kernel_regularizer: Regulariser of the rows.
        seed: Makes the default initialiser give the same rows every time.
        **kwargs: `name`, `dtype` and the like of `keras.Layer`.
    """

    # Set where the head alone says what kind of classifier it is.
    kind: ClassVar[str | None] = None

    def __init__(
        self,
        classes: int,
        *,
        kernel_initializer: Any = None,
        kernel_regularizer: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        if isinstance(classes, bool) or int(classes) != classes or classes < 2:
            raise ValueError(
                "`classes` should be a whole number, at least 2: with one class there "
                f"is nothing to learn. Received: {classes!r}."
            )
        self.classes = int(classes)
        self.kernel_initializer = (
            keras.initializers.GlorotUniform(seed=plain_seed(seed))
            if kernel_initializer is None
            else keras.initializers.get(kernel_initializer)
        )
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make one row a class."""
        size = input_shape[-1]
        if len(input_shape) != 2 or size is None:
            raise ValueError(
                f"{type(self).__name__} takes embeddings of shape (batch, d) with d "
                f"known. Received: input shape {tuple(input_shape)}."
            )
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.classes, size),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
        )

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Give `(batch, classes)`."""
        return (input_shape[0], self.classes)

    def weights_by_class(self) -> NDArray[np.float32]:
        """Give the rows W, `(classes, d)` float32, in the order of the labels."""
        return np.asarray(keras.ops.convert_to_numpy(self.kernel))

    def to_classifier(self, loss: ClassifierLoss, class_names: Names) -> Classifier:
        """Copy the trained rows out, for `export_version` and for the successor.

        Args:
            loss: The loss that the head was trained with; gives kind, scale and margin.
            class_names: The name of each class in the order of the labels; bytes, too.

        Raises:
            ValueError: The names do not fit the head.
        """
        bias = getattr(self, "bias", None)
        return Classifier(
            kind=self.kind or loss.kind,
            weights=self.weights_by_class(),
            class_names=tuple(
                text_column("class_names", class_names, required=True).tolist()
            ),
            bias=None if bias is None else keras.ops.convert_to_numpy(bias),
            scale=loss.scale,
            margin=loss.margin,
        )

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "classes": self.classes,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }
