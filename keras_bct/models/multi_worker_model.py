"""A model that `fit` can train on several machines."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_bct.models.compatible_model import CompatibleModel


@keras.saving.register_keras_serializable(package="keras_bct")
class MultiWorkerModel(CompatibleModel):
    """What `MultiWorkerMirroredStrategy` needs of a model under Keras 3.

    `fit` of a plain model fails twice there, in Keras 3.12 and 3.15 alike. Before the
    first step it takes the mean of a batch over the workers to learn its shapes, which
    TensorFlow refuses to do with a whole batch at once ("PerReplica ... unsupported
    type"); this model looks at its own worker's part. After each step it takes the
    mean of the logs along their first axis, and the logs are scalars, which have none;
    this model gives each of them one.

    Everywhere else it is what `compatible_model` gives.

    Args:
        inputs: As of `keras.Model`.
        outputs: As of `keras.Model`.

    Example:
        In the strategy's scope, around what `compatible_model` gives:

        >>> pictures = keras.Input((2,))
        >>> plain = keras.Model(pictures, keras.layers.Dense(3)(pictures))
        >>> MultiWorkerModel(plain.input, plain.output).output_shape
        (None, 3)
    """

    def train_step(self, data: Any) -> Any:
        """Trains on one batch, and gives the logs with an axis."""
        logs = super().train_step(data)
        return {name: ops.reshape(value, (1,)) for name, value in logs.items()}

    def _maybe_symbolic_build(
        self, iterator: Any = None, data_batch: Any = None
    ) -> Any:
        if iterator is not None:
            for _, _, batches in iterator:
                data_batch = keras.tree.map_structure(
                    lambda value: self.distribute_strategy.experimental_local_results(
                        value
                    )[0],
                    next(batches),
                )
                break
        return super()._maybe_symbolic_build(data_batch=data_batch)
