"""What a training says of itself when it has ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from keras_bct.training.criterion import DIFFERENCE


@dataclasses.dataclass(frozen=True)
class Summary:
    """What was trained, and what came of it.

    Attributes:
        method: The recipe's.
        directory: The version's.
        classes: Classes of the new classifier.
        pictures: Training pictures.
        steps: Batches that were trained on, those before a restart included.
        seconds: That this process took.
        resumed_at: The step that this process began at.
        stopped_early: Whether the criterion ended the training.
        history: The logs of every interval.
    """

    method: str
    directory: str
    classes: int
    pictures: int
    steps: int
    seconds: float
    resumed_at: int
    stopped_early: bool
    history: tuple[Mapping[str, float], ...]

    @property
    def last(self) -> Mapping[str, float]:
        """The logs that the version belongs to.

        Those of the interval with the best criterion where the training went back to
        it, otherwise the last ones.
        """
        if not self.history:
            return {}
        if self.stopped_early:
            return max(self.history, key=lambda logs: logs[DIFFERENCE])
        return self.history[-1]

    def to_json(self) -> dict[str, Any]:
        """Gives plain JSON values."""
        return {**dataclasses.asdict(self), "last": dict(self.last)}
