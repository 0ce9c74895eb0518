"""The float32 matrix product, by NumPy's BLAS or on a GPU through TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.scoring import Scoring

Singles = npt.NDArray[np.float32]
Multiply = Callable[[Singles, slice, Singles], None]


def product_on(device: str, scoring: Scoring) -> Multiply:
    """Gives the function that multiplies queries with a tile of the gallery.

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
    def multiply(left: Singles, columns: slice, out: Singles) -> None:
        np.matmul(left, scoring.right_operand(columns).T, out=out)

    return multiply


def tensorflow_product(scoring: Scoring, device: str) -> Multiply:
    """Multiplies with TensorFlow on one of its devices.

    TensorFloat-32 is switched off: its error would exceed the tolerance.
    """
    import tensorflow as tf

    tf.config.experimental.enable_tensor_float_32_execution(False)
    with tf.device(device):
        tiles: dict[tuple[int, int], Any] = {}

    def multiply(left: Singles, columns: slice, out: Singles) -> None:
        key = (columns.start, columns.stop)
        with tf.device(device):
            if key not in tiles:
                tiles[key] = tf.constant(scoring.right_operand(columns))
            out[:] = tf.matmul(left, tiles[key], transpose_b=True).numpy()

    return multiply
