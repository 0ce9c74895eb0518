"""The float32 matrix product, by NumPy's BLAS or on a GPU through TensorFlow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.scoring import Scoring

Singles = npt.NDArray[np.float32]
Multiply = Callable[[Singles, slice, Singles], None]

# The gallery's operand is held when the gallery is no larger, else made anew by tile.
_HELD_BYTES = 2**30


def product_on(device: str, scoring: Scoring) -> Multiply:
    """Gives the function that multiplies queries with a tile of the gallery.

    Many threads may call it: what they share is made here, before there are any, or
    under a lock.

    Args:
        device: `cpu`, `gpu`, or `auto`: the GPU where TensorFlow is loaded already and
            has one. Nobody who evaluates on a CPU waits for TensorFlow's import.
        scoring: Gives the gallery's operand.

    Raises:
        RuntimeError: `gpu` where TensorFlow sees none.
    """
    import sys

    if device == "gpu" or (device == "auto" and "tensorflow" in sys.modules):
        import tensorflow as tf

        if tf.config.list_physical_devices("GPU"):
            return tensorflow_product(scoring, "/GPU:0")
        if device == "gpu":
            raise RuntimeError(
                "`device` is 'gpu', but TensorFlow sees none. Take 'cpu' or 'auto'."
            )
    return _numpy_product(scoring)


def _numpy_product(scoring: Scoring) -> Multiply:
    held: Singles | None = None
    if scoring.right.nbytes <= _HELD_BYTES:
        held = scoring.right_operand(slice(None))

    def multiply(left: Singles, columns: slice, out: Singles) -> None:
        right = scoring.right_operand(columns) if held is None else held[columns]
        np.matmul(left, right.T, out=out)

    return multiply


def tensorflow_product(scoring: Scoring, device: str) -> Multiply:
    """Multiplies with TensorFlow on one of its devices.

    TensorFloat-32 is switched off: its error would exceed the tolerance.
    """
    import tensorflow as tf

    tf.config.experimental.enable_tensor_float_32_execution(False)
    tiles: dict[tuple[int, int], Any] = {}
    lock = threading.Lock()

    def multiply(left: Singles, columns: slice, out: Singles) -> None:
        key = (columns.start, columns.stop)
        with tf.device(device):
            with lock:
                if key not in tiles:
                    tiles[key] = tf.constant(scoring.right_operand(columns))
            out[:] = tf.matmul(left, tiles[key], transpose_b=True).numpy()

    return multiply
