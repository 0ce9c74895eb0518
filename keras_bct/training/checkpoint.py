"""What a killed training goes on from: one file, replaced as a whole."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_bct.training.early_stop import EarlyStop
from keras_bct.training.identity import differences
from keras_bct.written_whole import written_whole

_SCHEMA = 1
_FILE = "checkpoint.npz"
_STATE = "state.json"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The state of a training between two intervals.

    Attributes:
        state: Plain JSON values.
        arrays: Weights, optimizer and whatever else is large.
    """

    state: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]

    def save(self, path: Path) -> None:
        """Writes the file in the place of the one that is there.

        Killed at any moment, it leaves the old file or the new one, never a half.
        """
        text = json.dumps({"schema": _SCHEMA, **self.state}).encode()
        content: dict[str, Any] = {
            _STATE: np.frombuffer(text, np.uint8),
            **self.arrays,
        }
        with written_whole(path) as unfinished, unfinished.open("wb") as file:
            np.savez(file, **content)

    @classmethod
    def load(cls, path: Path) -> Checkpoint | None:
        """Reads the file, or gives None where there is none.

        Raises:
            ValueError: It is of another schema.
        """
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != _STATE}
            state = json.loads(file[_STATE].tobytes())
        if state.pop("schema") != _SCHEMA:
            raise ValueError(
                f"{path} should be a checkpoint of schema {_SCHEMA}. Remove it to "
                "train from the beginning."
            )
        return cls(state, arrays)


class Checkpoints(keras.callbacks.Callback):
    """Keeps the training at every interval, and takes it up again.

    Args:
        directory: Where the file goes.
        identity: What the training depends on, plain JSON values; see `identity`. A
            checkpoint of another one is refused.
        history: The logs of every interval; filled by another callback, and here with
            those before a restart.
        early_stop: Has a state of its own, or None.
    """

    def __init__(
        self,
        directory: Path,
        identity: Mapping[str, Any],
        history: list[dict[str, float]],
        early_stop: EarlyStop | None,
    ) -> None:
        super().__init__()
        self._path = directory / _FILE
        self._identity = identity
        self._history = history
        self._early_stop = early_stop

    def take_up(self, model: keras.Model) -> None:
        """Puts weights, optimizer, history and criterion where they were, if any were.

        Raises:
            ValueError: The checkpoint is another training's.
        """
        checkpoint = Checkpoint.load(self._path)
        if checkpoint is None:
            return
        self._refuse_another(checkpoint.state["identity"])
        model.optimizer.build(model.trainable_variables)
        variables = _variables(model)
        values = [
            checkpoint.arrays[name]
            for name in sorted(checkpoint.arrays)
            if name.startswith("variable/")
        ]
        if [tuple(v.shape) for v in variables] != [value.shape for value in values]:
            raise ValueError(
                f"{self._path} should hold the {len(variables)} variables of the "
                f"model. Received: {len(values)} of other shapes, written by another "
                "release; remove it to train from the beginning."
            )
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        if self._early_stop is not None:
            self._early_stop.restore(checkpoint.state["early_stop"], checkpoint.arrays)
        self._history.extend(checkpoint.state["history"])

    def _refuse_another(self, kept: Mapping[str, Any]) -> None:
        changed = differences(kept, self._identity)
        if changed:
            raise ValueError(
                f"{self._path} is the checkpoint of another training: {changed}. Give "
                "another output, or remove the file to train from the beginning."
            )

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keeps the training as it is at the end of an interval."""
        arrays = {
            f"variable/{number:05}": np.asarray(keras.ops.convert_to_numpy(variable))
            for number, variable in enumerate(_variables(self.model))
        }
        state: dict[str, Any] = {"identity": self._identity, "history": self._history}
        if self._early_stop is not None:
            state["early_stop"] = self._early_stop.state()
            arrays |= self._early_stop.arrays()
        Checkpoint(state, arrays).save(self._path)

    def remove(self) -> None:
        """Removes the file, when the version is written."""
        self._path.unlink(missing_ok=True)


def _variables(model: keras.Model) -> Sequence[Any]:
    return [*model.variables, *model.optimizer.variables]
