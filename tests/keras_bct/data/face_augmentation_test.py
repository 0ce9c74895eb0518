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

RNG = np.random.default_rng(0)
FACES = RNG.uniform(0, 255, (3, 12, 10, 3)).astype(np.float32)


def changed(layer, *draws, images=FACES):
    """What a layer makes of pictures when each has the same draws, in -1..1."""
    rows = np.repeat(np.array(draws, np.float32)[:, None], len(images), axis=1)
    return keras.ops.convert_to_numpy(layer.change(tf.constant(images), rows))


def test_inference_leaves_pictures_as_they_are():
    for layer in (Misalignment(), ColourDistortion(), HorizontalFlip()):
        np.testing.assert_array_equal(layer(FACES), FACES)
        np.testing.assert_array_equal(layer(FACES, training=False), FACES)


def test_without_a_change_pictures_stay():
    np.testing.assert_allclose(changed(Misalignment(), 0, 0, 0, 0), FACES, atol=1e-3)
    np.testing.assert_allclose(
        changed(ColourDistortion(), 0, 0, 0, 0), FACES, atol=1e-2
    )


def test_shift_moves_whole_pixels_and_repeats_the_edge():
    # A tenth of 10 columns to the right, a quarter of 12 rows up.
    right = changed(Misalignment(shift=0.1), 0, 0, 1, 0)
    np.testing.assert_allclose(right[:, :, 1:], FACES[:, :, :-1], atol=1e-3)
    np.testing.assert_allclose(right[:, :, 0], FACES[:, :, 0], atol=1e-3)
    up = changed(Misalignment(shift=0.25), 0, 0, 0, -1)
    np.testing.assert_allclose(up[:, :-3], FACES[:, 3:], atol=1e-3)
    np.testing.assert_allclose(up[:, -1], FACES[:, -1], atol=1e-3)


def test_rotation_by_a_right_angle_turns_the_picture():
    square = FACES[:, :9, :9]
    turned = changed(Misalignment(rotation=90), 0, 1, 0, 0, images=square)
    np.testing.assert_allclose(turned, np.rot90(square, -1, axes=(1, 2)), atol=1e-2)


def test_scale_keeps_the_centre_and_enlarges():
    ramp = np.tile(np.arange(11, dtype=np.float32)[None, None, :, None], (1, 11, 1, 1))
    larger = changed(Misalignment(scale=0.25), 1, 0, 0, 0, images=ramp)
    # Twice as large would halve the slope; here it falls to 1 / 1.25.
    np.testing.assert_allclose(larger[0, 5, :, 0], 5 + (np.arange(11) - 5) / 1.25)


def test_every_picture_has_draws_of_its_own():
    images = np.repeat(FACES[:1], 8, axis=0)
    for layer in (Misalignment(seed=1), ColourDistortion(seed=1)):
        result = keras.ops.convert_to_numpy(layer(images, training=True))
        assert all(np.abs(a - b).max() > 1 for a, b in itertools.pairwise(result))


def test_brightness_and_contrast_are_about_mid_grey():
    grey = np.full((1, 2, 2, 3), 100.0, np.float32)
    brighter = changed(ColourDistortion(brightness=0.1), 0, 1, 0, 0, images=grey)
    np.testing.assert_allclose(brighter, 125.5, atol=1e-2)
    flatter = changed(ColourDistortion(contrast=0.2), -1, 0, 0, 0, images=grey)
    np.testing.assert_allclose(flatter, 127.5 - 0.8 * 27.5, atol=1e-2)


def test_flip_mirrors_the_pictures_that_are_drawn():
    flip = HorizontalFlip(probability=0.25)
    draws = np.array([[-0.9, -0.4, 0.9]], np.float32)
    result = keras.ops.convert_to_numpy(flip.change(tf.constant(FACES), draws))
    np.testing.assert_array_equal(result[0], FACES[0, :, ::-1])
    np.testing.assert_array_equal(result[1:], FACES[1:])


def test_colours_stay_within_the_range():
    result = changed(ColourDistortion(brightness=0.9), 0, 1, 0, 0)
    assert result.max() == 255
    result = changed(ColourDistortion(brightness=0.9), 0, -1, 0, 0)
    assert result.min() == 0


def test_saturation_and_hue_leave_grey_and_brightness():
    layer = ColourDistortion(saturation=0.3, hue=20)
    grey = np.full((1, 2, 2, 3), 77.0, np.float32)
    np.testing.assert_allclose(changed(layer, 0, 0, 1, 1, images=grey), 77, atol=1e-2)
    muted = 127.5 + 0.2 * (FACES - 127.5)
    result = changed(layer, 0, 0, 1, -1, images=muted)
    weights = np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(result @ weights, muted @ weights, atol=1e-2)
    assert np.abs(result - muted).max() > 1


def test_hue_turns_back():
    layer = ColourDistortion(hue=15)
    muted = 127.5 + 0.2 * (FACES - 127.5)
    there = changed(layer, 0, 0, 0, 1, images=muted)
    np.testing.assert_allclose(
        changed(layer, 0, 0, 0, -1, images=there), muted, atol=1e-2
    )


def test_grey_pictures_have_brightness_and_contrast_only():
    grey = FACES[..., :1]
    result = changed(ColourDistortion(), 1, 0.5, 1, 1, images=grey)
    expected = (127.5 + 1.2 * (grey - 127.5) + 12.75).clip(0, 255)
    np.testing.assert_allclose(result, expected, atol=1e-2)


@pytest.mark.parametrize(
    "layer",
    [
        Misalignment(shift=0.1, rotation=3, scale=0.2, seed=7),
        ColourDistortion(brightness=0.2, contrast=0.1, saturation=0.3, hue=4, seed=7),
        HorizontalFlip(probability=0.25, seed=7),
    ],
)
def test_layers_round_trip_in_a_model(layer, tmp_path):
    model = keras.Sequential([keras.Input((12, 10, 3)), layer])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[-1].get_config() == layer.get_config()
    np.testing.assert_array_equal(loaded(FACES), FACES)
    # The seed generator's state is saved: both go on alike.
    np.testing.assert_allclose(
        loaded(FACES, training=True), model(FACES, training=True), atol=1e-3
    )
    model.export(str(tmp_path / "saved"), verbose=False)
    served = tf.saved_model.load(str(tmp_path / "saved")).serve(FACES)
    np.testing.assert_array_equal(served, FACES)


@pytest.mark.parametrize("jit", [False, True], ids=["graph", "XLA"])
def test_layers_train_within_a_model(jit):
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
    history = model.fit(FACES / 255, np.ones((3, 1)), epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"][0])


def test_half_precision_keeps_its_type():
    layer = Misalignment(dtype="mixed_float16")
    assert layer(FACES, training=True).dtype == tf.float16


def test_stateless_changes_are_a_function_of_the_seed():
    augment = stateless(Misalignment(), ColourDistortion())
    one, again, other = (
        augment(tf.constant(FACES), tf.constant([seed, 5], tf.int64)).numpy()
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1
    assert np.abs(one - FACES).max() > 1


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


def test_pictures_of_two_channels_are_refused():
    with pytest.raises(ValueError, match="1 channel or 3"):
        changed(ColourDistortion(), 0, 0, 0, 0, images=FACES[..., :2])
