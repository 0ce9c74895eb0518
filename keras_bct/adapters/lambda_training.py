"""Training of the lambda-orthogonal map: squared error, penalty, contrastive term."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_bct.adapters.pair_batches import PairBatches
from keras_bct.adapters.pair_statistics import Floats
from keras_bct.adapters.scaled_sides import ScaledSides
from keras_bct.losses.contrastive import Contrastive

# Far above what the squared error, which is at most about 1, can gain by a step away
# from the bound: the bound holds at the minimum.
_PENALTY_WEIGHT = 10.0


class Training(NamedTuple):
    """How a matrix is trained; `LambdaOrthogonal` says what each number means."""

    contrastive_weight: float
    temperature: float
    epochs: int
    batch_size: int
    learning_rate: float
    seed: int


class NearRotation(keras.regularizers.Regularizer):
    """`max(0, |B'B - I|_F - bound)`, of `B B'` where that is the smaller."""

    def __init__(self, bound: float) -> None:
        self._bound = bound

    def __call__(self, kernel: Any) -> Any:
        """Give the penalty of a kernel."""
        if kernel.shape[0] < kernel.shape[1]:
            kernel = ops.transpose(kernel)
        gram = ops.matmul(ops.transpose(kernel), kernel)
        squares = ops.sum(ops.square(gram - ops.eye(gram.shape[0])))
        # The root of zero has no gradient.
        return _PENALTY_WEIGHT * ops.relu(ops.sqrt(squares + 1e-12) - self._bound)


def train(
    how: Training,
    start: Floats,
    source: NDArray[Any],
    target: NDArray[Any],
    sides: ScaledSides,
    codes: NDArray[np.int32],
    bound: float | None,
) -> tuple[Floats, Floats]:
    """Train a matrix and a shift between scaled sides.

    Args:
        how: Weights, steps and seed.
        start: `(input_size, output_size)`, where it begins.
        source: `(n, input_size)` raw.
        target: `(n, output_size)` raw.
        sides: How they are scaled.
        codes: `(n,)` classes for the contrastive term.
        bound: lambda, or None: no penalty.

    Returns:
        The matrix and the shift, in scaled units.
    """

    def make(of: NDArray[np.int64]) -> tuple[Any, Any]:
        scaled = (source[of] - sides.source_mean) / sides.source_size
        error = (target[of] - sides.target_mean) / sides.target_size
        return (
            {
                "source": scaled.astype(np.float32),
                "target": target[of].astype(np.float32),
            },
            {"error": error.astype(np.float32), "contrast": codes[of]},
        )

    inputs = {
        "source": keras.Input((start.shape[0],), name="source"),
        "target": keras.Input((start.shape[1],), name="target"),
    }
    dense = keras.layers.Dense(
        start.shape[1],
        kernel_regularizer=None if bound is None else NearRotation(bound),
    )
    mapped = dense(inputs["source"])
    raw = mapped * sides.target_size + sides.target_mean.astype(np.float32)
    outputs = {
        "error": mapped,
        "contrast": ops.stack([inputs["target"], raw], axis=1),
    }
    terms = {"error": "mse", "contrast": Contrastive(temperature=how.temperature)}
    # Keras' squared error is the mean over components, the scaled one their sum.
    weights = {
        "error": float(start.shape[1]),
        "contrast": how.contrastive_weight,
    }
    model = keras.Model(inputs, outputs)
    dense.set_weights([start, np.zeros(start.shape[1])])
    batches = PairBatches(np.arange(len(source)), how.batch_size, make, how.seed)
    schedule = keras.optimizers.schedules.CosineDecay(
        how.learning_rate, how.epochs * len(batches)
    )
    model.compile(
        keras.optimizers.Adam(schedule),
        loss=terms,
        loss_weights=weights,
        jit_compile=False,
    )
    # Keras would shuffle the batches by its own global seed.
    model.fit(batches, epochs=how.epochs, shuffle=False, verbose=0)
    kernel, shift = dense.get_weights()
    return kernel.astype(np.float64), shift.astype(np.float64)
