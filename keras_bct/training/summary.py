"""What a training says of itself when it has ended."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bct.training.criterion import DIFFERENCE
from keras_bct.written_whole import written_whole


@dataclasses.dataclass(frozen=True)
class Summary:
    """What was trained, and what came of it.

    Attributes:
        recipe: The recipe's fields, plain values.
        identity: What it depends on, see `identity`; empty where nothing was kept to go
            on from.
        method: The recipe's.
        directory: The version's.
        classes: Classes of the new classifier.
        pictures: Training pictures.
        steps: Batches that were trained on, those before a restart included.
        seconds: That this process took.
        resumed_at: The step that this process began at.
        stopped_early: Whether the criterion ended the training.
        is_chief: Whether this process wrote the version; of several workers one does.
        history: The logs of every interval.
    """

    recipe: Mapping[str, Any]
    identity: Mapping[str, Any]
    method: str
    directory: str
    classes: int
    pictures: int
    steps: int
    seconds: float
    resumed_at: int
    stopped_early: bool
    is_chief: bool
    history: tuple[Mapping[str, float], ...]

    @property
    def last(self) -> Mapping[str, float]:
        """The logs that the version belongs to.

        Those of the interval with the best criterion where the recipe has `patience`,
        whose training goes back to it also from its end; otherwise the last ones.
        """
        if not self.history:
            return {}
        if (self.recipe.get("criterion") or {}).get("patience") is not None:
            return max(self.history, key=lambda logs: logs[DIFFERENCE])
        return self.history[-1]

    def to_json(self) -> dict[str, Any]:
        """Gives plain JSON values."""
        values = {**dataclasses.asdict(self), "last": dict(self.last)}
        plain: dict[str, Any] = json.loads(json.dumps(values))
        return plain

    def save(self, path: Path) -> None:
        """Writes it as JSON; an interrupted write leaves no half."""
        text = json.dumps(self.to_json(), indent=1) + "\n"
        with written_whole(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
