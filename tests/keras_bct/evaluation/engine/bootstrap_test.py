import numpy as np
import pytest

from keras_bct.evaluation.engine.bootstrap import (
    IdentityDraws,
    mean_replicates,
    percentile_interval,
)


def weights_of(draws, identities):
    return np.concatenate([weights for _, weights in draws.blocks(identities)])


def test_as_many_identities_are_drawn_as_there_are():
    weights = weights_of(IdentityDraws(250, seed=0), 40)

    assert weights.shape == (250, 40)
    assert (weights.sum(axis=1) == 40).all()
    # A weight is binomial: mean 1 and variance 1 - 1/40.
    assert weights.mean() == 1
    assert weights.var() == pytest.approx(1 - 1 / 40, rel=0.05)


def test_the_seed_and_the_stream_name_the_draws():
    first = weights_of(IdentityDraws(120, seed=3), 10)

    assert (weights_of(IdentityDraws(120, seed=3), 10) == first).all()
    assert (weights_of(IdentityDraws(120, seed=4), 10) != first).any()
    assert (weights_of(IdentityDraws(120, seed=3, stream=1), 10) != first).any()


def test_a_mean_weighs_each_item_as_its_identity():
    values = np.array([1.0, 3.0, 10.0])
    identity = np.array([0, 0, 1])
    draws = IdentityDraws(50, seed=0)
    expected = [
        np.average(values, weights=weights[identity])
        for weights in weights_of(draws, 2)
    ]

    assert mean_replicates(values, identity, draws) == pytest.approx(expected)


def test_replicates_without_a_value_are_left_out():
    replicates = np.array([np.nan, *range(101)])

    assert percentile_interval(replicates, 0.5) == (25, 75)
    assert np.isnan(percentile_interval(np.array([np.nan]), 0.9)).all()
