"""The course of a training: how many steps, and where it pauses to be kept."""

from __future__ import annotations

import dataclasses
import math

from keras_bct.training.recipe import Recipe

_TENTHS = 10


@dataclasses.dataclass(frozen=True)
class Course:
    """The steps of a training in intervals of equal length; the last may be shorter.

    At the end of each interval a checkpoint is written, and scalars and criterion
    with it. To Keras an interval is an epoch of `fit`.

    Attributes:
        epoch_steps: Batches in one pass over the training pictures.
        steps: Batches that are trained on.
        interval: Batches in an interval.

    Example:
        >>> course = Course.of(Recipe("beta", width=8, steps=1501), pictures=16800)
        >>> course
        Course(epoch_steps=131, steps=1501, interval=151)
        >>> course.intervals, course.steps_after(9), course.steps_after(10)
        (10, 1359, 1501)
    """

    epoch_steps: int
    steps: int
    interval: int

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
        return cls(epoch_steps, steps, math.ceil(steps / intervals))

    @property
    def intervals(self) -> int:
        """How many intervals there are."""
        return math.ceil(self.steps / self.interval)

    def steps_after(self, intervals: int) -> int:
        """Gives how many batches so many intervals are."""
        return min(intervals * self.interval, self.steps)
