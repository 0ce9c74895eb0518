"""Every form of docs/methods.md, section 2, against its definition in float64."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct import losses


def arcface_target(cosine, margin):
    theta = math.acos(cosine)
    if theta > math.pi - margin:
        return cosine - margin * math.sin(margin)
    return math.cos(theta + margin)


def sphereface_target(cosine, margin):
    theta = math.acos(cosine)
    piece = min(int(theta * margin / math.pi), margin - 1)
    return (-1) ** piece * math.cos(margin * theta) - 2 * piece


FORMS = {
    "softmax": (losses.Softmax(), 1.0, lambda cosine: cosine),
    "normsoftmax": (losses.NormSoftmax(scale=10.0), 10.0, lambda cosine: cosine),
    "cosface": (
        losses.CosFace(scale=10.0, margin=0.35),
        10.0,
        lambda cosine: cosine - 0.35,
    ),
    "arcface": (
        losses.ArcFace(scale=10.0, margin=0.5),
        10.0,
        lambda cosine: arcface_target(cosine, 0.5),
    ),
    "sphereface-1": (losses.SphereFace(scale=10.0, margin=1), 10.0, lambda cos: cos),
    "sphereface-3": (
        losses.SphereFace(scale=10.0, margin=3),
        10.0,
        lambda cosine: sphereface_target(cosine, 3),
    ),
    "sphereface-4": (
        losses.SphereFace(scale=10.0, margin=4),
        10.0,
        lambda cosine: sphereface_target(cosine, 4),
    ),
}
every_form = pytest.mark.parametrize(
    ("loss", "scale", "target"), FORMS.values(), ids=FORMS
)


def expected(outputs, labels, scale, target, cross_entropy):
    logits = scale * np.asarray(outputs, np.float64)
    for row, label in enumerate(labels):
        logits[row, label] = scale * target(outputs[row, label])
    return cross_entropy(logits, labels)


@every_form
def test_values_follow_the_definition(
    loss, scale, target, cosines, cross_entropy, value_and_gradient
):
    outputs, labels = cosines
    values, _ = value_and_gradient(loss, labels, outputs)
    np.testing.assert_allclose(
        values, expected(outputs, labels, scale, target, cross_entropy), rtol=2e-5
    )


@every_form
def test_gradients_follow_the_definition(
    loss, scale, target, cosines, cross_entropy, numeric_gradient, value_and_gradient
):
    outputs, labels = cosines
    _, gradient = value_and_gradient(loss, labels, outputs)
    wanted = numeric_gradient(
        lambda point: expected(point, labels, scale, target, cross_entropy).sum(),
        outputs,
    )
    np.testing.assert_allclose(gradient, wanted, rtol=2e-4, atol=1e-5)


@every_form
@pytest.mark.parametrize("cosine", [1.0, -1.0, 1.0000001, -1.0000001])
def test_is_finite_at_the_ends(loss, scale, target, cosine, value_and_gradient):
    outputs = [[cosine, -cosine, 0.0]]
    for label in range(3):
        values, gradient = value_and_gradient(loss, [label], outputs)
        assert np.isfinite(values).all()
        assert np.isfinite(gradient).all()


@every_form
def test_target_falls_as_its_angle_grows(loss, scale, target, value_and_gradient):
    angles = np.linspace(0, np.pi, 400)
    outputs = np.stack([np.cos(angles), np.zeros_like(angles)], axis=1)
    values, _ = value_and_gradient(loss, np.zeros(400, int), outputs)
    assert (np.diff(values) >= -1e-5).all()


@every_form
def test_comes_back_from_its_config(loss, scale, target, cosines):
    outputs, labels = cosines
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(loss)
    )
    assert type(again) is type(loss)
    assert again.get_config() == loss.get_config()
    assert float(again(labels, outputs)) == float(loss(labels, outputs))


@every_form
def test_default_reduction_is_the_sum_over_the_batch_by_its_size(
    loss, scale, target, cosines, value_and_gradient
):
    outputs, labels = cosines
    values, _ = value_and_gradient(loss, labels, outputs)
    np.testing.assert_allclose(
        float(loss(labels, outputs)), values.sum() / 6, rtol=1e-6
    )


@every_form
@pytest.mark.parametrize("label", [-1, 5, 1000])
def test_label_outside_the_head_is_refused(loss, scale, target, label, cosines):
    outputs, _ = cosines
    labels = np.array([0, 1, label, 3, 4, 0])
    message = "outside the head: expected 0 <= label < 5"
    with pytest.raises(ValueError, match=message):
        loss(labels, outputs)


@every_form
def test_where_xla_cannot_refuse_a_label_its_loss_is_nan(loss, scale, target, cosines):
    outputs, _ = cosines
    compiled = tf.function(loss.call, jit_compile=True)
    values = compiled(
        tf.constant([0, 1, 5, -1, 4, 0]), tf.constant(outputs, tf.float32)
    )
    assert np.isnan(values.numpy()).tolist() == [False, False, True, True, False, False]


def test_half_precision_outputs_are_lifted_to_float32():
    loss = losses.CosFace(scale=64.0, margin=0.4)
    outputs = tf.constant([[0.5, -0.5]], tf.float16)
    value = loss(tf.constant([0]), outputs)
    assert value.dtype == tf.float32
    # Logits 64 (0.5 - 0.4) = 6.4 and -32: log(1 + exp(-38.4)) = 2.1e-17.
    assert float(value) < 1e-6
    # Logits 32 and 64 (-0.5 - 0.4) = -57.6: 89.6, beyond the exponents of float16.
    np.testing.assert_allclose(float(loss(tf.constant([1]), outputs)), 89.6, rtol=1e-6)


def test_no_matrix_beside_the_logits_is_made_for_the_labels():
    graph = tf.function(
        losses.CosFace(scale=10.0, margin=0.3).call
    ).get_concrete_function(
        tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, 5], tf.float32)
    )
    assert not [op.name for op in graph.graph.get_operations() if op.type == "OneHot"]


def smoothed(outputs, labels, scale, target, smoothing):
    """Cross entropy with the whole matrix of softened labels, in float64."""
    logits = scale * np.asarray(outputs, np.float64)
    for row, label in enumerate(labels):
        logits[row, label] = scale * target(outputs[row, label])
    softened = np.full_like(logits, smoothing / logits.shape[1])
    softened[np.arange(len(labels)), labels] += 1 - smoothing
    highest = logits.max(axis=1, keepdims=True)
    shares = logits - highest
    shares -= np.log(np.exp(shares).sum(axis=1, keepdims=True))
    return -(softened * shares).sum(axis=1)


@every_form
@pytest.mark.parametrize("smoothing", [0.1, 0.6])
def test_smoothed_labels_spread_a_share_over_all_classes(
    loss, scale, target, smoothing, cosines, numeric_gradient, value_and_gradient
):
    outputs, labels = cosines
    smooth = type(loss).from_config({**loss.get_config(), "label_smoothing": smoothing})
    values, gradient = value_and_gradient(smooth, labels, outputs)
    wanted = smoothed(outputs, labels, scale, target, smoothing)
    np.testing.assert_allclose(values, wanted, rtol=2e-5)
    slope = numeric_gradient(
        lambda point: smoothed(point, labels, scale, target, smoothing).sum(), outputs
    )
    np.testing.assert_allclose(gradient, slope, rtol=2e-4, atol=1e-5)


def test_smoothed_labels_agree_with_keras_where_keras_has_them():
    logits = np.random.default_rng(2).normal(size=(6, 5)).astype("float32")
    labels = np.array([0, 1, 2, 3, 4, 0])
    keras_loss = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=0.1
    )
    np.testing.assert_allclose(
        float(losses.Softmax(label_smoothing=0.1)(labels, logits)),
        float(keras_loss(np.eye(5)[labels], logits)),
        rtol=1e-6,
    )


def test_smoothing_makes_no_matrix_of_labels():
    loss = losses.Softmax(label_smoothing=0.1)
    graph = tf.function(loss.call).get_concrete_function(
        tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, 5], tf.float32)
    )
    assert not [op.name for op in graph.graph.get_operations() if op.type == "OneHot"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.Softmax(label_smoothing=1.0), "`label_smoothing` should be"),
        (lambda: losses.CosFace(scale=1.0, margin=0.3, label_smoothing=-0.1), "below"),
        (lambda: losses.NormSoftmax(scale=0.0), "`scale` should be a positive number"),
        (lambda: losses.CosFace(scale=-1.0, margin=0.3), "`scale` should be"),
        (lambda: losses.CosFace(scale=1.0, margin=-0.3), "`margin` should be"),
        (lambda: losses.CosFace(scale=1.0, margin=math.nan), "`margin` should be"),
        (lambda: losses.ArcFace(scale=1.0, margin=4.0), r"angle.*\[0, pi\]"),
        (lambda: losses.SphereFace(scale=1.0, margin=1.5), "whole number"),
    ],
)
def test_refuses_parameters_out_of_range(make, message):
    with pytest.raises(ValueError, match=message):
        make()
