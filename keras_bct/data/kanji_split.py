"""The one published split of the kanji into training, validation and test."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
from collections.abc import Sequence

import numpy as np

SEED = 20200613
TRAIN, TRAIN_OLD, VALIDATION, TEST = 600, 300, 200, 600


@dataclasses.dataclass(frozen=True)
class KanjiSplit:
    """Which characters an experiment may use for what; no two parts overlap.

    Attributes:
        train: 600 characters of the new model.
        train_old: 300 characters of the old model, the first of `train`.
        validation: 200 characters; hyper-parameters are chosen on them alone.
        test: 600 characters.
        queries_only: a sixth of `validation` and of `test`, which have no gallery
            rows: as probes they have no mate.
    """

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    queries_only: frozenset[str]

    @property
    def train_old(self) -> tuple[str, ...]:
        """The characters of the old model."""
        return self.train[:TRAIN_OLD]

    def characters(self, part: str) -> tuple[str, ...]:
        """Return a part's characters by its name.

        Raises:
            ValueError: no such part.

        >>> [len(load_split().characters(p)) for p in ("train_old", "train", "test")]
        [300, 600, 600]
        """
        parts = {
            "train_old": self.train_old,
            "train": self.train,
            "validation": self.validation,
            "test": self.test,
        }
        if part not in parts:
            raise ValueError(
                f"`part` should be one of {', '.join(parts)}. Received: {part!r}"
            )
        return parts[part]


def load_split() -> KanjiSplit:
    """Read the stored split."""
    stored = importlib.resources.files(__package__).joinpath("kanji_split.json")
    parts = json.loads(stored.read_text(encoding="utf-8"))
    return KanjiSplit(
        train=tuple(parts["train"]),
        validation=tuple(parts["validation"]),
        test=tuple(parts["test"]),
        queries_only=frozenset(parts["queries_only"]),
    )


def choose_split(characters: Sequence[str], seed: int = SEED) -> KanjiSplit:
    """Choose the split anew; the stored one came from this and is what counts.

    Args:
        characters: at least 1,400 characters that every embedded face has.
        seed: of the one permutation that decides everything.
    """
    order = np.random.default_rng(seed).permutation(len(characters))
    shuffled = tuple(characters[i] for i in order[: TRAIN + VALIDATION + TEST])
    validation = shuffled[TRAIN : TRAIN + VALIDATION]
    test = shuffled[TRAIN + VALIDATION :]
    return KanjiSplit(
        train=shuffled[:TRAIN],
        validation=validation,
        test=test,
        queries_only=frozenset(
            validation[: VALIDATION // 6] + test[: TEST // 6],
        ),
    )
