import keras
import numpy as np
import pytest

from keras_bct.losses import Contrastive

LABELS = np.array([0, 1, 0, 2, 1])
PAIRS = np.random.default_rng(0).normal(size=(5, 2, 3))


def by_definition(pairs, temperature):
    unit = pairs / np.linalg.norm(pairs, axis=-1, keepdims=True)
    values = []
    for query, label in zip(unit[:, 1], LABELS, strict=True):
        powers = np.exp(unit @ query / temperature)
        negatives = powers[label != LABELS].sum()
        positives = powers[label == LABELS, 0]
        values.append(np.mean(-np.log(positives / (positives + negatives))))
    return np.array(values)


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_follows_its_definition(temperature, value_and_gradient, numeric_gradient):
    loss = Contrastive(temperature=temperature)
    values, gradient = value_and_gradient(loss, LABELS, PAIRS)
    np.testing.assert_allclose(values, by_definition(PAIRS, temperature), rtol=1e-4)
    wanted = numeric_gradient(lambda p: by_definition(p, temperature).sum(), PAIRS)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-3, atol=1e-4)


def test_batch_of_one_class_has_no_negatives_and_costs_nothing(value_and_gradient):
    values, gradient = value_and_gradient(
        Contrastive(temperature=0.1), [4, 4, 4, 4, 4], PAIRS
    )
    np.testing.assert_array_equal(values, 0)
    np.testing.assert_array_equal(gradient, 0)


def test_is_finite_for_a_small_temperature_and_a_zero_embedding(value_and_gradient):
    pairs = PAIRS.copy()
    pairs[0] = 0.0
    values, gradient = value_and_gradient(Contrastive(temperature=0.001), LABELS, pairs)
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()


def test_comes_back_from_its_config():
    loss = Contrastive(temperature=0.2)
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(loss)
    )
    assert again.get_config() == loss.get_config()


def test_needs_a_positive_temperature():
    with pytest.raises(ValueError, match="`temperature` should be a positive"):
        Contrastive(temperature=-1.0)
