"""Labels as whole numbers: what is no row of the head must not train silently."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bct.losses.per_sample_loss import PerSampleLoss
from keras_bct.losses.refuse_unless import refuse_unless

_NO_ROW = np.iinfo(np.int64).min
_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


class LabelledLoss(PerSampleLoss):
    """A loss whose labels stay as they are given.

    Keras casts `y_true` to the loss's dtype before `call` sees it. Float32 holds whole
    numbers up to 2**24 only and float16 up to 2048; beyond, a label would become its
    neighbour. So `call` of a subclass is given `y_true` uncast.
    """

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Give the reduced loss, as in `keras.losses.Loss`."""
        # Not kept on `self`: the replicas of a `MirroredStrategy` share it.
        return _OfLabels(self, y_true)(0, y_pred, sample_weight)


class _OfLabels(keras.losses.Loss):
    """A loss with its labels put in, past Keras's cast."""

    def __init__(self, loss: LabelledLoss, y_true: Any) -> None:
        super().__init__(name=loss.name, reduction=loss.reduction, dtype=loss.dtype)
        self._loss, self._labels = loss, y_true

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self._loss.call(self._labels, y_pred)


def whole_labels(labels: Any) -> Any:
    """Give labels as int64, or refuse what is no label.

    Args:
        labels: `(batch,)` or `(batch, 1)`, whole numbers of any dtype.

    Returns:
        `(batch,)` int64.

    Raises:
        ValueError: Another shape, as of one-hot labels; or, where the values are
            known, a fraction, NaN, infinity, or a float so large that its neighbours
            are the same float. In a graph TensorFlow's assertion refuses them.
        TypeError: Text.
    """
    labels = ops.convert_to_tensor(labels)
    dtype = keras.backend.standardize_dtype(labels.dtype)
    if dtype == "string":
        raise TypeError(
            "Labels should be row numbers. Received: text; turn class names into row "
            "numbers, e.g. with Classifier.labels(names)."
        )
    # TensorFlow may know no shape at all, or not every size.
    unknown = getattr(labels.shape, "rank", ...) is None
    sizes = (None,) if unknown else tuple(labels.shape)
    if not sizes or any(size not in (1, None) for size in sizes[1:]):
        raise ValueError(
            "Labels should be row numbers, of shape (batch,) or (batch, 1). Received: "
            f"shape {sizes}; of one-hot labels take argmax(axis=-1)."
        )
    labels = ops.reshape(labels, (-1,))
    if dtype not in _BITS:
        return ops.cast(labels, "int64")
    # From 2**bits on a float may stand for more than one whole number.
    exact = ops.abs(labels) < 2.0 ** _BITS[dtype]
    exact = ops.logical_and(exact, ops.equal(labels, ops.floor(labels)))
    labels = refuse_unless(
        exact,
        labels,
        "Labels should be row numbers: whole, finite, and so small that their dtype "
        f"{dtype} tells them apart (below 2**{_BITS[dtype]}). Give them as integers.",
    )
    return ops.where(exact, ops.cast(labels, "int64"), _NO_ROW)


def row_labels(labels: Any, classes: int) -> tuple[Any, Any]:
    """Give labels as row numbers that are safe to look up, and which of them are valid.

    A label outside `[0, classes)` is refused where TensorFlow can. XLA drops its
    assertions and accelerators read past the end without a word, so the caller also
    turns the loss of an invalid sample into NaN.

    Args:
        labels: As `whole_labels` takes them.
        classes: The number of rows of the head.

    Returns:
        `(batch,)` int32 in `[0, classes)`, and `(batch,)` bool.

    Raises:
        ValueError: As `whole_labels`; or a label outside, where the values are known.
    """
    labels = whole_labels(labels)
    valid = ops.logical_and(labels >= 0, labels < classes)
    labels = refuse_unless(
        valid,
        labels,
        f"A label lies outside the head: expected 0 <= label < {classes} (and -1 "
        "for 'no old class' under Influence alone). Join labels by class name, e.g. "
        "with Classifier.labels(names).",
    )
    return ops.cast(ops.clip(labels, 0, classes - 1), "int32"), valid
