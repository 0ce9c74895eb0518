"""The course of a training: how many steps, and where it pauses to be kept."""

from __future__ import annotations

import dataclasses

from keras_bct.training.recipe import Recipe

_TENTHS = 10


@dataclasses.dataclass(frozen=True)
class Course:
    """The steps of a training in intervals of equal length.

    At the end of each interval a checkpoint is written, and scalars and criterion
    with it. To Keras an interval is an epoch of `fit`.

    Attributes:
        epoch_steps: Batches in one pass over the training pictures.
        schedule_steps: Batches that the learning rate's course is laid over.
        interval: Batches in an interval.
        intervals: How many there are.

    Example:
        >>> Course.of(Recipe("beta", width=8, steps=1500), pictures=16800)
        Course(epoch_steps=131, schedule_steps=1500, interval=150, intervals=10)
    """

    epoch_steps: int
    schedule_steps: int
    interval: int
    intervals: int

    @classmethod
    def of(cls, recipe: Recipe, pictures: int) -> Course:
        """Lays out the course of a recipe over a number of training pictures."""
        epoch_steps = max(1, pictures // recipe.batch_size)
        if recipe.steps is not None:
            steps, intervals = recipe.steps, _TENTHS
        else:
            assert recipe.epochs is not None, "a recipe has steps or epochs"
            steps, intervals = recipe.epochs * epoch_steps, recipe.epochs
        if recipe.interval_steps is not None:
            intervals = max(1, round(steps / recipe.interval_steps))
        return cls(epoch_steps, steps, max(1, steps // intervals), intervals)

    @property
    def steps(self) -> int:
        """Batches that are trained on: what is left of an interval is not."""
        return self.interval * self.intervals
