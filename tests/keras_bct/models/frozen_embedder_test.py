import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.models import FrozenEmbedder, glyph_network


@pytest.fixture(scope="module")
def network():
    return glyph_network(4, 2, image_shape=(8, 8, 1), seed=0)


@pytest.fixture(scope="module")
def old_model(network, tmp_path_factory):
    directory = tmp_path_factory.mktemp("old") / "1"
    network.export(directory, verbose=False)
    return directory


@pytest.fixture
def pictures():
    return np.random.default_rng(0).uniform(0, 255, (3, 8, 8, 1)).astype("float32")


def test_gives_the_old_models_embeddings(old_model, network, pictures):
    given = FrozenEmbedder(old_model)(pictures)
    np.testing.assert_allclose(given, network.predict(pictures, verbose=0), atol=1e-4)


def test_has_nothing_to_train_and_passes_no_gradient(old_model, pictures):
    layer = FrozenEmbedder(old_model)
    images = tf.constant(pictures)
    with tf.GradientTape() as tape:
        tape.watch(images)
        total = tf.reduce_sum(layer(images))
    assert tape.gradient(total, images) is None
    assert layer.weights == []


def test_works_in_a_functional_model_and_in_fit(old_model, pictures):
    image = keras.Input((8, 8, 1))
    model = keras.Model(image, keras.layers.Dense(1)(FrozenEmbedder(old_model)(image)))
    model.compile("sgd", "mse")
    model.fit(pictures, np.zeros((3, 1)), verbose=0)
    assert model.output_shape == (None, 1)


def test_keras_file_names_the_directory(old_model, pictures, tmp_path):
    image = keras.Input((8, 8, 1))
    model = keras.Model(image, FrozenEmbedder(old_model)(image))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(pictures), model(pictures))
