"""What must hold of every sample of a batch, inside a graph or outside of one."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np


def refuse_unless(holds: Any, values: Any, message: str) -> Any:
    """Give `values`, behind the check that all of `holds` is true.

    In a graph it is TensorFlow's assertion. XLA drops assertions, and other backends
    have none.

    Args:
        holds: `(batch,)` bool.
        values: `(batch, ...)`, shown where it does not hold.
        message: What was expected.

    Raises:
        ValueError: It does not hold, and the values are known.
    """
    if keras.backend.backend() != "tensorflow":
        return values
    import tensorflow as tf

    if tf.executing_eagerly():
        bad = np.flatnonzero(~np.asarray(holds))
        if len(bad):
            raise ValueError(
                f"{message} Received: {np.asarray(values)[bad[0]]} for sample "
                f"{bad[0]} of the batch."
            )
        return values
    check = tf.debugging.Assert(
        tf.reduce_all(holds), [f"{message} Received:", values], summarize=16
    )
    # Whatever is computed from the values waits for the assertion, the gradients
    # and so the weights' update included.
    with tf.control_dependencies([check]):
        return tf.identity(values)
