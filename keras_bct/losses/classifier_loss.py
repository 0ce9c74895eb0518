"""The shared base of the softmax family: from cosines or logits to cross entropy."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from keras import ops

from keras_bct.losses.labels import LabelledLoss, row_labels


class ClassifierLoss(LabelledLoss):
    """Cross entropy of a classifier head, one value a sample.

    A subclass says in `plain_logits` how logits follow from what the head gives, and
    in `logits` what a margin does to them. Everything is computed in float32. Values
    are per sample, and the default reduction sums them and divides by the batch size,
    which is exact under `MirroredStrategy`.

    Args:
        label_smoothing: The share e of a label that is spread evenly over all classes,
            in [0, 1): the target is 1 - e + e / classes, every other class e / classes.
        **kwargs: `name`, `reduction` and `dtype` as in `keras.losses.Loss`.

    Raises:
        ValueError: `label_smoothing` is out of its range.

    Attributes:
        kind: The kind of `keras_bct.classifier.Classifier` that the loss trains.
        scale: The factor s on cosines, or None.
        margin: The margin m, or None.
    """

    kind: ClassVar[str]
    scale: float | None = None
    margin: float | None = None

    def __init__(
        self,
        *,
        label_smoothing: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.label_smoothing = float(label_smoothing)
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                "`label_smoothing` should be at least 0 and below 1. Received: "
                f"{label_smoothing!r}."
            )

    def classes(self, outputs: Any) -> int:
        """Give the number of classes that `outputs` are about."""
        return int(outputs.shape[-1])

    @abc.abstractmethod
    def plain_logits(self, outputs: Any) -> Any:
        """Give the logits `(batch, classes)` without a margin.

        Args:
            outputs: `(batch, classes)` cosines or inner products, as the head gives
                them.
        """

    def logits(self, labels: Any, outputs: Any) -> Any:
        """Give the logits `(batch, classes)` that are trained on.

        Args:
            labels: `(batch,)` int32, each the row of a class.
            outputs: As in `plain_logits`.
        """
        return self.plain_logits(outputs)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Give the cross entropy of each sample.

        Args:
            y_true: `(batch,)` whole numbers in `[0, classes)`.
            y_pred: `(batch, classes)`, what the head gave.

        Returns:
            `(batch,)`. NaN where a label lies outside the head and the backend could
            not raise.
        """
        labels, valid = row_labels(y_true, self.classes(y_pred))
        logits = self.logits(labels, y_pred)
        values = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        if self.label_smoothing:
            # Cross entropy is linear in what it is taken with: of the target's share
            # e goes to the mean over all classes. No (batch, classes) labels are made.
            target = ops.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
            values += self.label_smoothing * (target - ops.mean(logits, axis=1))
        return ops.where(valid, values, np.nan)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {
            **super().get_config(),
            "label_smoothing": self.label_smoothing,
        }


class MarginLoss(ClassifierLoss):
    """A cosine form: `s cos(theta_c)` for all classes but the target's.

    A subclass says in `target` what the cosine of the target class becomes. Only that
    column is looked up and replaced; no one-hot matrix is made.

    Args:
        scale: The factor s, positive; None where a subclass takes it from elsewhere.
        margin: The margin m, zero or more.
        **kwargs: As in `ClassifierLoss`.
    """

    margin: float

    def __init__(self, *, scale: float | None, margin: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = None if scale is None else positive_number("scale", scale)
        self.margin = float(margin)
        if not np.isfinite(self.margin) or self.margin < 0:
            raise ValueError(
                f"`margin` should be a number, zero or more. Received: {margin!r}."
            )

    @abc.abstractmethod
    def target(self, cosine: Any) -> Any:
        """Give what takes the place of the target class's cosine.

        Args:
            cosine: `(batch, 1)`, in [-1, 1] up to rounding.
        """

    def parts(self, outputs: Any) -> tuple[Any, Any]:
        """Give the cosines `(batch, classes)` and what they are multiplied with."""
        return outputs, self.scale

    def classes(self, outputs: Any) -> int:
        """Give the number of classes that `outputs` are about."""
        return int(self.parts(outputs)[0].shape[-1])

    def plain_logits(self, outputs: Any) -> Any:
        """Scale the cosines."""
        cosines, scale = self.parts(outputs)
        return scale * cosines

    def logits(self, labels: Any, outputs: Any) -> Any:
        """Scale, then replace the target column."""
        cosines, scale = self.parts(outputs)
        cosine = ops.take_along_axis(cosines, labels[:, None], axis=1)
        rows = ops.arange(ops.shape(cosines)[0], dtype="int32")
        # Nothing else reads the scaled cosines, so TensorFlow writes the column into
        # them without a copy of `(batch, classes)`.
        return ops.scatter_update(
            scale * cosines,
            ops.stack([rows, labels], axis=1),
            (scale * self.target(cosine))[:, 0],
        )

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        return {**super().get_config(), "scale": self.scale, "margin": self.margin}


def positive_number(name: str, value: float) -> float:
    """Give `value` as float, or raise naming the argument."""
    number = float(value)
    if not np.isfinite(number) or number <= 0:
        raise ValueError(f"`{name}` should be a positive number. Received: {value!r}.")
    return number
