import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.classifier import Classifier
from keras_bct.layers import FrozenClassifier

ROWS = np.random.default_rng(0).normal(size=(5, 3))
NAMES = tuple("abcde")
EMBEDDINGS = np.random.default_rng(1).normal(size=(7, 4))


def old(kind="cosface", bias=None):
    return Classifier(kind, ROWS, NAMES, bias=bias, scale=30.0, margin=0.4)


def cut_cosines():
    cut = EMBEDDINGS[:, :3]
    lengths = np.linalg.norm(cut, axis=1)[:, None] * np.linalg.norm(ROWS, axis=1)
    return cut @ ROWS.T / lengths


@pytest.mark.parametrize("kind", ["cosface", "arcface", "sphereface", "normsoftmax"])
def test_cosine_kinds_cut_first_and_normalise_after(kind):
    given = FrozenClassifier(old(kind))(EMBEDDINGS.astype("float32"))
    np.testing.assert_allclose(given, cut_cosines(), atol=1e-6)


def test_softmax_gives_logits_with_the_old_bias():
    bias = np.arange(5.0)
    given = FrozenClassifier(old("softmax", bias))(EMBEDDINGS.astype("float32"))
    np.testing.assert_allclose(given, EMBEDDINGS[:, :3] @ ROWS.T + bias, atol=1e-5)


def test_nothing_in_it_is_trained_but_the_embedding_is():
    layer = FrozenClassifier(old())
    embeddings = tf.constant(EMBEDDINGS, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        values = layer(embeddings)
    gradient = tape.gradient(values, embeddings).numpy()
    assert layer.trainable_weights == []
    assert gradient[:, :3].any()
    assert not gradient[:, 3].any()


def test_stays_frozen_when_its_model_is_made_trainable():
    layer = FrozenClassifier(old())
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4), layer])
    model.trainable = True
    assert [weight.path for weight in model.trainable_weights] == [
        weight.path for weight in model.layers[0].trainable_weights
    ]


def test_narrower_embedding_is_refused():
    with pytest.raises(ValueError, match="takes 3 components"):
        FrozenClassifier(old())(np.zeros((1, 2), "float32"))


def test_anything_but_a_classifier_is_refused():
    with pytest.raises(TypeError, match=r"Classifier\.load"):
        FrozenClassifier("models/1")


@pytest.mark.parametrize("bias", [None, np.arange(5.0)])
def test_comes_back_from_a_keras_file(tmp_path, bias):
    kind = "cosface" if bias is None else "softmax"
    model = keras.Sequential(
        [keras.Input((4,)), FrozenClassifier(old(kind, bias), name="old")]
    )
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    pictures = EMBEDDINGS.astype("float32")
    np.testing.assert_array_equal(again(pictures), model(pictures))
    classifier = again.get_layer("old").classifier
    assert classifier.class_names == NAMES
    assert (classifier.kind, classifier.scale, classifier.margin) == (kind, 30.0, 0.4)
    np.testing.assert_array_equal(classifier.weights, ROWS.astype("float32"))


def test_comes_back_from_a_saved_model(tmp_path):
    model = keras.Sequential([keras.Input((4,)), FrozenClassifier(old())])
    model.export(tmp_path / "exported", verbose=False)
    again = tf.saved_model.load(str(tmp_path / "exported"))
    pictures = EMBEDDINGS.astype("float32")
    np.testing.assert_allclose(again.serve(pictures), model(pictures), atol=1e-6)


def test_rows_that_were_never_loaded_show_as_nan():
    layer = FrozenClassifier.from_config(FrozenClassifier(old()).get_config())
    assert np.isnan(layer(EMBEDDINGS.astype("float32"))).all()


def test_computes_in_float32_under_mixed_precision():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        given = FrozenClassifier(old())(tf.constant(EMBEDDINGS, tf.float16))
    finally:
        keras.config.set_dtype_policy("float32")
    assert given.dtype == tf.float32
    np.testing.assert_allclose(given, cut_cosines(), atol=2e-3)
