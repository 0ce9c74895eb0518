import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.data import (
    ColourDistortion,
    HorizontalFlip,
    Misalignment,
    stateless,
)


def test_inference_leaves_pictures_as_they_are(faces):
    for layer in (Misalignment(), ColourDistortion(), HorizontalFlip()):
        np.testing.assert_array_equal(layer(faces), faces)
        np.testing.assert_array_equal(layer(faces, training=False), faces)


def test_every_picture_has_draws_of_its_own(faces):
    images = np.repeat(faces[:1], 8, axis=0)
    for layer in (Misalignment(seed=1), ColourDistortion(seed=1)):
        result = keras.ops.convert_to_numpy(layer(images, training=True))
        assert all(np.abs(a - b).max() > 1 for a, b in itertools.pairwise(result))


@pytest.mark.parametrize(
    "layer",
    [
        Misalignment(shift=0.1, rotation=3, scale=0.2, seed=7),
        ColourDistortion(brightness=0.2, contrast=0.1, saturation=0.3, hue=4, seed=7),
        HorizontalFlip(probability=0.25, seed=7),
    ],
)
def test_layers_round_trip_in_a_model(layer, tmp_path, faces):
    model = keras.Sequential([keras.Input((12, 10, 3)), layer])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[-1].get_config() == layer.get_config()
    np.testing.assert_array_equal(loaded(faces), faces)
    # The seed generator's state is saved: both go on alike.
    np.testing.assert_allclose(
        loaded(faces, training=True), model(faces, training=True), atol=1e-3
    )
    model.export(str(tmp_path / "saved"), verbose=False)
    served = tf.saved_model.load(str(tmp_path / "saved")).serve(faces)
    np.testing.assert_array_equal(served, faces)


@pytest.mark.parametrize("jit", [False, True], ids=["graph", "XLA"])
def test_layers_train_within_a_model(jit, faces):
    model = keras.Sequential(
        [
            keras.Input((12, 10, 3)),
            Misalignment(seed=0),
            ColourDistortion(seed=0),
            keras.layers.Flatten(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse", jit_compile=jit)
    history = model.fit(faces / 255, np.ones((3, 1)), epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"][0])


def test_half_precision_keeps_its_type(faces):
    layer = Misalignment(dtype="mixed_float16")
    assert layer(faces, training=True).dtype == tf.float16


def test_stateless_changes_are_a_function_of_the_seed(faces):
    augment = stateless(Misalignment(), ColourDistortion())
    one, again, other = (
        augment(tf.constant(faces), tf.constant([seed, 5], tf.int64)).numpy()
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1
    assert np.abs(one - faces).max() > 1


@pytest.mark.parametrize(
    ("layer", "argument", "value"),
    [
        (Misalignment, "shift", 1.0),
        (Misalignment, "rotation", 180),
        (Misalignment, "scale", -0.1),
        (ColourDistortion, "brightness", 1.5),
        (ColourDistortion, "contrast", -1),
        (ColourDistortion, "saturation", 1),
        (ColourDistortion, "hue", 200),
        (HorizontalFlip, "probability", 1.1),
    ],
)
def test_value_out_of_range_is_refused(layer, argument, value):
    with pytest.raises(ValueError, match=f"`{argument}`.*Received: {value}"):
        layer(**{argument: value})
