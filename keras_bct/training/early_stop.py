"""Stops a training whose criterion no longer grows, at its best weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_bct.training.criterion import DIFFERENCE


class EarlyStop(keras.callbacks.Callback):
    """Stops when M(new, old) - M(old, old) has not grown for `patience` intervals.

    Its state is part of a checkpoint, so that a training that was killed stops where
    an unbroken one does.

    Args:
        patience: How many intervals may pass without growth.

    Attributes:
        stopped: Whether the training is over.
    """

    def __init__(self, patience: int) -> None:
        super().__init__()
        self._patience = patience
        self._best: float | None = None
        self._waited = 0
        self._best_weights: list[npt.NDArray[Any]] = []
        self.stopped = False

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Takes note of the criterion, and stops when it has not grown for long."""
        difference = float((logs or {})[DIFFERENCE])
        if self._best is None or difference > self._best:
            self._best, self._waited = difference, 0
            self._best_weights = [
                np.array(keras.ops.convert_to_numpy(weight))
                for weight in self.model.weights
            ]
            return
        self._waited += 1
        if self._waited >= self._patience:
            self.stopped = True
            self.model.stop_training = True

    def restore_best(self, model: keras.Model) -> None:
        """Puts the best weights back."""
        for weight, value in zip(model.weights, self._best_weights, strict=False):
            weight.assign(value)

    def state(self) -> dict[str, Any]:
        """Gives what a checkpoint keeps, beside `arrays`."""
        return {"best": self._best, "waited": self._waited, "stopped": self.stopped}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Gives the best weights."""
        return {f"best/{n:05}": value for n, value in enumerate(self._best_weights)}

    def restore(
        self, state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> None:
        """Takes up what a checkpoint kept."""
        self._best, self._waited = state["best"], state["waited"]
        self.stopped = state["stopped"]
        self._best_weights = [
            arrays[name] for name in sorted(arrays) if name.startswith("best/")
        ]
