"""CosineHead and LinearHead: what they share, and what they compute."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.layers import CosineHead, LinearHead
from keras_bct.losses import CosFace, Softmax

EMBEDDINGS = np.random.default_rng(0).normal(size=(6, 4))
both_heads = pytest.mark.parametrize("head", [CosineHead, LinearHead])


def test_cosines_follow_the_definition():
    head = CosineHead(3, seed=1)
    given = head(EMBEDDINGS.astype(np.float32))
    rows = head.weights_by_class().astype(np.float64)
    lengths = np.linalg.norm(EMBEDDINGS, axis=1)[:, None] * np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(given, EMBEDDINGS @ rows.T / lengths, atol=1e-6)


def test_logits_follow_the_definition():
    head = LinearHead(3, seed=1)
    head.build((None, 4))
    head.bias.assign([1.0, 2.0, 3.0])
    rows = head.weights_by_class().astype(np.float64)
    np.testing.assert_allclose(
        head(EMBEDDINGS.astype(np.float32)), EMBEDDINGS @ rows.T + [1, 2, 3], atol=1e-6
    )


def test_logits_without_a_bias():
    head = LinearHead(3, use_bias=False)
    head(EMBEDDINGS.astype(np.float32))
    assert [weight.name for weight in head.weights] == ["kernel"]


def test_cosine_gradient_follows_the_definition():
    head = CosineHead(3, seed=1)
    embeddings = tf.constant(EMBEDDINGS, tf.float32)
    weights = np.random.default_rng(1).normal(size=(6, 3))
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        total = tf.reduce_sum(head(embeddings) * weights)
    unit = head.weights_by_class().astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    # d cos / dx = (w - cos * x / |x|) / |x| with w of unit length.
    lengths = np.linalg.norm(EMBEDDINGS, axis=1, keepdims=True)
    direction = EMBEDDINGS / lengths
    cosines = direction @ unit.T
    wanted = (
        weights @ unit - (weights * cosines).sum(1, keepdims=True) * direction
    ) / lengths
    np.testing.assert_allclose(tape.gradient(total, embeddings), wanted, atol=1e-5)


@pytest.mark.parametrize("length", [0.0, 1e-30, 1e-12, 1e15])
def test_an_embedding_of_any_length_gives_finite_cosines_and_gradients(length):
    head = CosineHead(3, seed=1)
    embeddings = tf.constant(length * EMBEDDINGS, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        cosines = head(embeddings)
    assert np.isfinite(cosines).all()
    assert np.abs(cosines).max() <= 1 + 1e-6
    assert np.isfinite(tape.gradient(cosines, embeddings)).all()


@both_heads
def test_computes_in_float32_under_mixed_precision(head):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        layer = head(3)
        given = layer(tf.constant(300 * EMBEDDINGS, tf.float16))
    finally:
        keras.config.set_dtype_policy("float32")
    assert given.dtype == tf.float32
    assert np.isfinite(given).all()
    assert layer.kernel.dtype == "float32"


@both_heads
def test_comes_back_from_its_config(head):
    layer = head(3, kernel_regularizer="l2", name="classes")
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert type(again) is head
    assert again.get_config() == layer.get_config()


@both_heads
def test_seed_makes_the_same_rows(head):
    first, second, other = head(3, seed=5), head(3, seed=5), head(3, seed=6)
    for layer in (first, second, other):
        layer.build((None, 4))
    np.testing.assert_array_equal(first.weights_by_class(), second.weights_by_class())
    assert not np.array_equal(first.weights_by_class(), other.weights_by_class())


@both_heads
@pytest.mark.parametrize("classes", [0, 1, 2.5, True])
def test_needs_at_least_two_classes(head, classes):
    with pytest.raises(ValueError, match="`classes` should be a whole number"):
        head(classes)


@both_heads
def test_takes_embeddings_only(head):
    with pytest.raises(ValueError, match=r"\(batch, d\)"):
        head(3)(np.zeros((2, 8, 8, 1), "float32"))


def test_trained_rows_become_a_classifier():
    head = CosineHead(2, seed=1)
    head.build((None, 4))
    classifier = head.to_classifier(CosFace(scale=24.0, margin=0.3), ["ka", "ki"])
    assert (classifier.kind, classifier.scale, classifier.margin) == (
        "cosface",
        24,
        0.3,
    )
    np.testing.assert_array_equal(classifier.weights, head.kernel.numpy())


def test_trained_bias_goes_with_the_rows():
    head = LinearHead(2)
    head.build((None, 4))
    head.bias.assign([0.5, -0.5])
    classifier = head.to_classifier(Softmax(), ["ka", "ki"])
    assert classifier.kind == "softmax"
    np.testing.assert_array_equal(classifier.bias, [0.5, -0.5])


def test_class_names_must_fit_the_head():
    head = CosineHead(3)
    head.build((None, 4))
    with pytest.raises(ValueError, match="one row for each"):
        head.to_classifier(CosFace(scale=24.0, margin=0.3), ["ka", "ki"])


def test_a_head_takes_its_class_names_in_bytes():
    head = CosineHead(2)
    head.build((None, 3))
    names = tf.constant(["ka", "亜"])
    made = head.to_classifier(CosFace(scale=24, margin=0.3), names)
    assert made.class_names == ("ka", "亜")
    made = head.to_classifier(CosFace(scale=24, margin=0.3), [b"ka", b"ki"])
    assert made.class_names == ("ka", "ki")
