"""The course of the learning rate."""

from __future__ import annotations

from typing import Any

import keras

from keras_bct.training.course import Course
from keras_bct.training.recipe import Recipe


def learning_rate(recipe: Recipe, course: Course) -> Any:
    """Gives the learning rate of every step.

    `cosine` rises from a hundredth over the first twentieth of the steps and falls to
    zero along a cosine. `steps` divides by ten after each of the optimizer's
    `decay_epochs`; the BCT paper has 0.1 and divides after 8, 12 and 14 of 16 epochs.

    Args:
        recipe: The highest rate, and how it goes on.
        course: The steps that it is laid over.

    Returns:
        A `keras.optimizers.schedules.LearningRateSchedule`.

    Example:
        >>> from keras_bct.training.settings import OptimizerSettings
        >>> paper = Recipe("independent", width=8, epochs=16, learning_rate=0.1,
        ...     optimizer=OptimizerSettings("sgd", "steps"))
        >>> rate = learning_rate(paper, Course.of(paper, pictures=1280))
        >>> [round(float(rate(step)), 4) for step in (79, 80, 120, 140)]
        [0.1, 0.01, 0.001, 0.0001]

    References:
        Shen et al., CVPR 2020, section 3.2; docs/methods.md, section 2.
    """
    if recipe.optimizer.schedule == "steps":
        epochs = recipe.optimizer.decay_epochs
        return keras.optimizers.schedules.PiecewiseConstantDecay(
            # Keras counts steps from 0 and holds a value up to its boundary, included.
            [epoch * course.epoch_steps - 1 for epoch in epochs],
            [recipe.learning_rate / 10**n for n in range(len(epochs) + 1)],
        )
    warm_up = max(1, course.steps // 20)
    return keras.optimizers.schedules.CosineDecay(
        recipe.learning_rate / 100,
        decay_steps=course.steps - warm_up,
        warmup_target=recipe.learning_rate,
        warmup_steps=warm_up,
    )
