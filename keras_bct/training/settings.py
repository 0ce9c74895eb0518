"""The sections of a recipe: data, optimizer, criterion."""

from __future__ import annotations

import dataclasses
import itertools

from keras_bct.checked_choice import check_choice
from keras_bct.checked_numbers import make_plain

OPTIMIZERS = ("adamw", "sgd")
SCHEDULES = ("cosine", "steps")


@dataclasses.dataclass(frozen=True)
class DataSettings:
    """The training pictures.

    Attributes:
        train: A TFRecord pattern, or several; relative to the working directory.
        compression: `GZIP`, or None to tell by each file's first bytes.
        in_memory: Whether every picture is decoded once into memory; False reads the
            same batches from uncompressed files on a local disk.

    Raises:
        ValueError: There is no pattern.
    """

    train: str | tuple[str, ...]
    compression: str | None = None
    in_memory: bool = True

    def __post_init__(self) -> None:
        """Checks that there is a pattern."""
        if not self.train:
            raise ValueError(
                "`data.train` should name at least one TFRecord file or pattern. "
                f"Received: {self.train!r}"
            )

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, one or several."""
        return (self.train,) if isinstance(self.train, str) else self.train


@dataclasses.dataclass(frozen=True)
class OptimizerSettings:
    """How the weights follow the gradient, and the course of the learning rate.

    Attributes:
        name: `adamw`, or `sgd` with momentum, whose weight decay is part of the
            gradient, as in the BCT paper.
        schedule: `cosine` rises over the first twentieth of the steps and falls to
            zero along a cosine; `steps` divides by ten after each of `decay_epochs`.
        momentum: Of `sgd`.
        weight_decay: None: 0.004 for `adamw`, as in Keras, and none for `sgd`.
        decay_epochs: After how many epochs `steps` divides; the paper's 8, 12 and 14.

    Raises:
        ValueError: A value is out of its range.
    """

    name: str = "adamw"
    schedule: str = "cosine"
    momentum: float = 0.9
    weight_decay: float | None = None
    decay_epochs: tuple[int, ...] = (8, 12, 14)

    def __post_init__(self) -> None:
        """Checks the ranges."""
        make_plain(self)
        check_choice("optimizer.name", self.name, OPTIMIZERS)
        check_choice("optimizer.schedule", self.schedule, SCHEDULES)
        if not 0 <= self.momentum < 1:
            raise ValueError(
                "`optimizer.momentum` should be at least 0 and below 1. Received: "
                f"{self.momentum}"
            )
        if self.weight_decay is not None and self.weight_decay < 0:
            raise ValueError(
                "`optimizer.weight_decay` should not be negative. Received: "
                f"{self.weight_decay}"
            )
        epochs = (0, *self.decay_epochs)
        rising = all(a < b for a, b in itertools.pairwise(epochs))
        if not self.decay_epochs or not rising:
            raise ValueError(
                "`optimizer.decay_epochs` should be positive and rising. Received: "
                f"{list(self.decay_epochs)}"
            )


@dataclasses.dataclass(frozen=True)
class CriterionSettings:
    """Equation 2 measured during the training, on a small protocol.

    Attributes:
        protocol: The protocol's YAML file; both sides are TFRecords of pictures.
        metric: One of its metrics; None: the first one of its gate.
        patience: Stop when M(new, old) - M(old, old) has not grown for so many
            intervals, and go back to the best weights. None: train to the end.

    Raises:
        ValueError: `patience` is below 1.
    """

    protocol: str
    metric: str | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        """Checks the range."""
        make_plain(self)
        if self.patience is not None and self.patience < 1:
            raise ValueError(
                "`criterion.patience` should be at least 1, or null to train to the "
                f"end. Received: {self.patience}"
            )
