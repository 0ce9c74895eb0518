"""L2 and Distillation: what they share, and what they compute."""

import keras
import numpy as np
import pytest

from keras_bct.losses import L2, CosFace, Distillation, NormSoftmax, Softmax

PAIRS = np.random.default_rng(0).uniform(-1, 1, (5, 2, 4))
ALL = np.arange(5)
every_loss = pytest.mark.parametrize(
    "loss",
    [L2(), Distillation(CosFace(scale=8.0, margin=0.4), temperature=2.0)],
    ids=["l2", "distillation"],
)


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def divergence(pairs, scale, temperature):
    old = softmax(scale * pairs[:, 0] / temperature)
    new = softmax(scale * pairs[:, 1] / temperature)
    return (old * np.log(old / new)).sum(axis=1)


def test_l2_is_half_the_squared_distance(value_and_gradient):
    values, gradient = value_and_gradient(L2(), ALL, PAIRS)
    step = PAIRS[:, 1] - PAIRS[:, 0]
    np.testing.assert_allclose(values, 0.5 * (step**2).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(gradient[:, 1], step, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("inner", "scale"),
    [
        (Softmax(), 1.0),
        (NormSoftmax(scale=8.0), 8.0),
        # Without the margin, whichever class is the sample's own.
        (CosFace(scale=8.0, margin=0.4), 8.0),
    ],
)
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_distillation_is_the_divergence_of_softened_outputs(
    inner, scale, temperature, value_and_gradient, numeric_gradient
):
    loss = Distillation(inner, temperature=temperature)
    values, gradient = value_and_gradient(loss, ALL, PAIRS)
    np.testing.assert_allclose(
        values, divergence(PAIRS, scale, temperature), rtol=1e-4, atol=1e-6
    )
    wanted = numeric_gradient(
        lambda pairs: divergence(pairs, scale, temperature).sum(), PAIRS
    )
    np.testing.assert_allclose(gradient[:, 1], wanted[:, 1], rtol=1e-3, atol=1e-5)


def test_distillation_is_finite_where_the_old_model_is_certain(value_and_gradient):
    pairs = np.array([[[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]]])
    loss = Distillation(NormSoftmax(scale=64.0), temperature=0.5)
    values, gradient = value_and_gradient(loss, [0], pairs)
    # p_old is one for the first class, whose log p_new is -2 * 128.
    np.testing.assert_allclose(values, [256.0], rtol=1e-5)
    assert np.isfinite(gradient).all()


@every_loss
def test_the_same_vectors_cost_nothing(loss, value_and_gradient):
    same = np.repeat(PAIRS[:, :1], 2, axis=1)
    values, gradient = value_and_gradient(loss, ALL, same)
    np.testing.assert_allclose(values, 0, atol=1e-6)
    np.testing.assert_allclose(gradient[:, 1], 0, atol=1e-6)


@every_loss
def test_no_gradient_is_computed_for_the_old_vector(loss, value_and_gradient):
    _, gradient = value_and_gradient(loss, np.array([3, -1, 0, -1, 7]), PAIRS)
    assert gradient[[0, 2, 4], 1].any()
    assert not gradient[:, 0].any()


@every_loss
def test_samples_labelled_minus_one_are_left_out(loss, value_and_gradient):
    labels = np.array([3, -1, 0, -1, 7])
    everything, _ = value_and_gradient(loss, ALL, PAIRS)
    values, gradient = value_and_gradient(loss, labels, PAIRS)
    np.testing.assert_allclose(values, everything * [1, 0, 1, 0, 1], rtol=1e-6)
    assert not gradient[[1, 3]].any()
    np.testing.assert_allclose(float(loss(labels, PAIRS)), values.sum() / 5, rtol=1e-6)


@every_loss
def test_a_sample_left_out_may_lack_its_old_vector(loss, value_and_gradient):
    pairs = PAIRS.copy()
    pairs[1, 0] = np.nan
    values, gradient = value_and_gradient(loss, [0, -1, 2, 3, 4], pairs)
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()


@every_loss
def test_comes_back_from_its_config(loss):
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(loss)
    )
    assert again.get_config() == loss.get_config()
    assert float(again(ALL, PAIRS)) == float(loss(ALL, PAIRS))


def test_distillation_needs_a_positive_temperature():
    with pytest.raises(ValueError, match="`temperature` should be a positive"):
        Distillation(Softmax(), temperature=0.0)


def test_distillation_needs_the_old_classifiers_loss():
    with pytest.raises(TypeError, match="for_classifier"):
        Distillation("kl_divergence")
