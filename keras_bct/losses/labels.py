"""Labels that lie outside the head must not train silently."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops


def row_labels(labels: Any, classes: int) -> tuple[Any, Any]:
    """Give labels as row numbers that are safe to look up, and which of them are valid.

    A label outside `[0, classes)` raises where TensorFlow runs its assertions. XLA
    drops them and accelerators read past the end without a word, so the caller also
    turns the loss of an invalid sample into NaN.

    Args:
        labels: `(batch,)` or `(batch, 1)`, whole numbers of any dtype.
        classes: The number of rows of the head.

    Returns:
        `(batch,)` int32 in `[0, classes)`, and `(batch,)` bool.
    """
    labels = ops.cast(ops.reshape(labels, (-1,)), "int32")
    valid = ops.logical_and(labels >= 0, labels < classes)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        message = (
            f"A label lies outside the head: expected 0 <= label < {classes} (and -1 "
            "for 'no old class' under Influence alone). Join labels by class name, "
            "e.g. with Classifier.labels(names). Labels received:"
        )
        holds = tf.debugging.Assert(
            tf.reduce_all(valid), [message, labels], summarize=16
        )
        # Whatever is computed from the labels waits for the assertion, the gradients
        # and so the weights' update included. (Eagerly it has raised already.)
        with tf.control_dependencies([] if holds is None else [holds]):
            labels = tf.identity(labels)
    return ops.clip(labels, 0, classes - 1), valid
