"""Stops by the criterion alone, and goes back to the best weights."""

import keras
import numpy as np
import pytest

from keras_bct.training.early_stop import EarlyStop


def run(criterion, patience, early_stop=None):
    """Lets a model's one weight be the number of its interval."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.stop_training = False
    early_stop = early_stop or EarlyStop(patience)
    early_stop.set_model(model)
    for interval, value in enumerate(criterion):
        model.weights[0].assign([[float(interval)]])
        early_stop.on_epoch_end(interval, {"criterion": value, "loss": 9.0 - interval})
        if model.stop_training:
            break
    return model, early_stop, interval


@pytest.mark.parametrize(
    ("criterion", "stopped_at", "best"),
    [
        ([-0.2, 0.1, 0.0, 0.05, 0.3], 3, 1),
        ([0.0, 0.1, 0.05, 0.2, 0.1, 0.1, 0.9], 5, 3),
        # Equal is not better.
        ([0.1, 0.1, 0.1, 0.1], 2, 0),
    ],
)
def test_stops_when_it_has_not_grown_for_two_intervals(criterion, stopped_at, best):
    model, early_stop, interval = run(criterion, patience=2)
    assert (interval, early_stop.stopped) == (stopped_at, True)
    early_stop.restore_best(model)
    assert float(model.weights[0][0, 0]) == best


def test_a_criterion_that_grows_is_trained_to_its_end():
    model, early_stop, interval = run([0.0, 0.1, 0.2, 0.3], patience=1)
    assert (interval, early_stop.stopped) == (3, False)
    early_stop.restore_best(model)
    assert float(model.weights[0][0, 0]) == 3


def test_a_restart_counts_on():
    _, first, _ = run([0.3, 0.1], patience=2)
    second = EarlyStop(2)
    second.restore(first.state(), first.arrays())
    model, second, interval = run([0.2], 2, second)
    assert (interval, second.stopped) == (0, True)
    second.restore_best(model)
    assert float(model.weights[0][0, 0]) == 0
    np.testing.assert_equal(second.arrays(), first.arrays())
