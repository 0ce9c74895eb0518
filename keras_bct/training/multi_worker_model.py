"""A model that `fit` can train on several machines."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops


class MultiWorkerModel(keras.Model):
    """What `MultiWorkerMirroredStrategy` needs of a model under Keras 3.

    Keras takes the mean of every step's logs over the workers along their first axis,
    and the logs are scalars, which have none: `fit` of a plain model fails at its
    first step. This one gives each of them an axis.

    Args:
        inputs: As of `keras.Model`.
        outputs: As of `keras.Model`.
    """

    def train_step(self, data: Any) -> Any:
        """Trains on one batch, and gives the logs with an axis."""
        logs = super().train_step(data)
        return {name: ops.reshape(value, (1,)) for name, value in logs.items()}
