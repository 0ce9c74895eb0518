"""The optimizer of a recipe; stochastic gradient descent decays as the paper's does."""

from __future__ import annotations

from typing import Any

import keras

from keras_bct.training.course import Course
from keras_bct.training.recipe import Recipe
from keras_bct.training.schedule import learning_rate


@keras.saving.register_keras_serializable(package="keras_bct")
class DecayingSGD(keras.optimizers.SGD):
    """Momentum of the gradient with its weight decay: `v = mu v - lr (g + w d)`.

    Keras's own `SGD(weight_decay=)` shrinks the weights beside the momentum, a tenth
    of it at momentum 0.9; the face recipes mean this one.

    Args:
        learning_rate: A number or a schedule.
        momentum: mu.
        l2: The weight decay d.
        **kwargs: As in `keras.optimizers.SGD`.

    References:
        Shen et al., CVPR 2020, section 3.2: weight decay 5e-4.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        momentum: float = 0.9,
        l2: float = 0.0,
        name: str = "decaying_sgd",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, momentum, name=name, **kwargs)
        self.l2 = float(l2)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Moves one variable."""
        decay = self.l2 * keras.ops.cast(variable, gradient.dtype)
        super().update_step(gradient + decay, variable, learning_rate)

    def get_config(self) -> dict[str, Any]:
        """Gives what the constructor takes."""
        return {**super().get_config(), "l2": self.l2}


def make_optimizer(recipe: Recipe, course: Course) -> keras.optimizers.Optimizer:
    """Gives the optimizer that a recipe asks for."""
    settings = recipe.optimizer
    rate = learning_rate(recipe, course)
    if settings.name == "sgd":
        return DecayingSGD(rate, settings.momentum, settings.weight_decay or 0.0)
    decay = (
        {} if settings.weight_decay is None else {"weight_decay": settings.weight_decay}
    )
    return keras.optimizers.AdamW(rate, **decay)
