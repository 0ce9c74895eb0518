import keras
import numpy as np
import pytest

from keras_bct.losses import CosFace, Influence, Softmax

OUTPUTS = np.array(
    [[0.8, 0.1, -0.3], [0.2, 0.7, 0.0], [0.9, -0.9, 0.4], [0.1, 0.2, 0.3]]
)


def test_samples_without_an_old_class_count_zero(cross_entropy, value_and_gradient):
    loss = Influence(CosFace(scale=10.0, margin=0.2))
    labels = np.array([2, -1, 0, -1])
    logits = 10.0 * OUTPUTS
    logits[0, 2] -= 2.0
    logits[2, 0] -= 2.0
    wanted = cross_entropy(logits, np.array([2, 0, 0, 0])) * [1, 0, 1, 0]
    values, gradient = value_and_gradient(loss, labels, OUTPUTS)
    np.testing.assert_allclose(values, wanted, rtol=1e-5)
    assert not gradient[[1, 3]].any()
    assert gradient[[0, 2]].any()


def test_sum_is_divided_by_the_whole_batch_not_by_the_unmasked():
    loss = Influence(Softmax())
    # Each unmasked sample costs log(3); two of four are masked.
    value = loss(np.array([0, -1, 2, -1]), np.zeros((4, 3)))
    np.testing.assert_allclose(float(value), 2 * np.log(3) / 4, rtol=1e-6)


def test_batch_without_any_old_class_costs_nothing(value_and_gradient):
    values, gradient = value_and_gradient(
        Influence(CosFace(scale=10.0, margin=0.2)), np.array([-1, -1, -1, -1]), OUTPUTS
    )
    assert not values.any()
    assert not gradient.any()


def test_masked_sample_may_hold_any_number(value_and_gradient):
    outputs = np.full((2, 3), 0.5)
    outputs[1] = [1e30, -1e30, 0.0]
    values, gradient = value_and_gradient(
        Influence(CosFace(scale=64.0, margin=0.4)), np.array([1, -1]), outputs
    )
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()
    assert not gradient[1].any()


@pytest.mark.parametrize("label", [-2, 3])
def test_no_other_label_outside_the_old_classifier_is_taken(label):
    loss = Influence(CosFace(scale=10.0, margin=0.2))
    with pytest.raises(ValueError, match="outside the head"):
        loss(np.array([0, -1, label, 1]), OUTPUTS)


def test_labels_may_come_as_a_column():
    loss = Influence(CosFace(scale=10.0, margin=0.2))
    labels = np.array([2, -1, 0, 1])
    assert float(loss(labels, OUTPUTS)) == float(loss(labels[:, None], OUTPUTS))


def test_comes_back_from_its_config():
    loss = Influence(CosFace(scale=10.0, margin=0.2), name="influence_of_phi1")
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(loss)
    )
    assert isinstance(again, Influence)
    assert again.get_config() == loss.get_config()
    assert again.loss.margin == 0.2


def test_inner_loss_must_be_a_classifiers():
    with pytest.raises(TypeError, match="for_classifier"):
        Influence(keras.losses.SparseCategoricalCrossentropy())
