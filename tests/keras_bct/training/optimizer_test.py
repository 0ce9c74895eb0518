"""The course of the learning rate, and steps of the optimizers, by hand."""

import keras
import numpy as np
import pytest

from keras_bct.training import DecayingSGD, OptimizerSettings, Recipe
from keras_bct.training.course import Course
from keras_bct.training.optimizer import make_optimizer
from keras_bct.training.schedule import learning_rate


def recipe(**fields):
    return Recipe(**{"method": "independent", "width": 8, "batch_size": 10, **fields})


def test_the_papers_rate_falls_after_8_12_and_14_epochs():
    paper = recipe(
        epochs=16, learning_rate=0.1, optimizer=OptimizerSettings("sgd", "steps")
    )
    course = Course.of(paper, pictures=59)
    assert course.epoch_steps == 5
    rates = [float(learning_rate(paper, course)(step)) for step in range(80)]
    wanted = [0.1] * 40 + [0.01] * 20 + [0.001] * 10 + [0.0001] * 10
    np.testing.assert_allclose(rates, wanted, rtol=1e-6)


def test_the_cosine_rises_over_a_twentieth_and_falls_to_zero():
    one = recipe(steps=100, learning_rate=2.0)
    rate = learning_rate(one, Course.of(one, pictures=59))
    rates = np.array([float(rate(step)) for step in range(101)])
    rise = 0.02 + (2.0 - 0.02) * np.arange(5) / 5
    fall = 2.0 * 0.5 * (1 + np.cos(np.pi * np.arange(96) / 95))
    np.testing.assert_allclose(rates, [*rise, *fall], atol=1e-6)


def after_steps(optimizer, start, gradients):
    variable = keras.Variable(np.array(start, "float32"))
    for gradient in gradients:
        optimizer.apply([np.array(gradient, "float32")], [variable])
    return keras.ops.convert_to_numpy(variable)


def test_weight_decay_is_part_of_the_gradient_that_momentum_gathers():
    start, gradients = [1.0, -2.0, 0.5], np.random.default_rng(0).normal(size=(6, 3))
    rate, momentum, decay = 0.1, 0.9, 0.05
    weights, velocity = np.array(start), np.zeros(3)
    for gradient in gradients:
        velocity = momentum * velocity - rate * (gradient + decay * weights)
        weights = weights + velocity
    moved = after_steps(DecayingSGD(rate, momentum, decay), start, gradients)
    np.testing.assert_allclose(moved, weights, rtol=1e-5)


def test_it_comes_back_from_its_config():
    optimizer = DecayingSGD(0.1, 0.8, 5e-4)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert isinstance(again, DecayingSGD)
    assert again.get_config() == optimizer.get_config()
    assert (again.momentum, again.l2) == (0.8, 5e-4)


@pytest.mark.parametrize(
    ("settings", "kind", "decay"),
    [
        (OptimizerSettings(), keras.optimizers.AdamW, 0.004),
        (OptimizerSettings(weight_decay=0.1), keras.optimizers.AdamW, 0.1),
        (OptimizerSettings("sgd"), DecayingSGD, 0.0),
        (OptimizerSettings("sgd", weight_decay=5e-4), DecayingSGD, 5e-4),
    ],
)
def test_a_recipe_names_its_optimizer(settings, kind, decay):
    one = recipe(steps=100, optimizer=settings)
    optimizer = make_optimizer(one, Course.of(one, pictures=59))
    assert type(optimizer) is kind
    found = optimizer.l2 if kind is DecayingSGD else optimizer.weight_decay
    assert found == decay
