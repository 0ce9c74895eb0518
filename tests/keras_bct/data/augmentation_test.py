import numpy as np
import pytest
import tensorflow as tf

from keras_bct.data import Augmentation

STILL = Augmentation(shift=0, scale=0, rotation=0, contrast=0, brightness=0)


def disc(side=33, radius=8.0, channels=1):
    """A white disc in the middle of a black picture."""
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    inside = (np.hypot(y, x) <= radius) * 255.0
    return np.repeat(inside[None, :, :, None], channels, axis=3).astype(np.float32)


def many(picture, count=200):
    return tf.constant(np.repeat(picture, count, axis=0))


def only(**ranges):
    still = {field: 0 for field in STILL.__dataclass_fields__}
    return Augmentation(**{**still, **ranges})


def test_no_range_leaves_pictures_as_they_are():
    pictures = np.random.default_rng(0).uniform(0, 255, (4, 6, 5, 3))
    pictures = pictures.astype(np.float32)
    np.testing.assert_allclose(
        STILL(tf.constant(pictures), [1, 2]), pictures, atol=0.01
    )


def test_shape_and_range_are_kept():
    changed = Augmentation()(many(disc(channels=3), 16), [1, 2]).numpy()
    assert changed.shape == (16, 33, 33, 3)
    assert changed.dtype == np.float32
    assert changed.min() >= 0 and changed.max() <= 255


def test_same_seed_makes_the_same_changes():
    one, again, other = (
        Augmentation()(many(disc(), 8), seed).numpy()
        for seed in ([1, 2], [1, 2], [1, 3])
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_every_picture_of_a_batch_is_changed_on_its_own():
    changed = Augmentation()(many(disc(), 8), [1, 2]).numpy()
    assert len(np.unique(changed.reshape(8, -1), axis=0)) == 8


def test_shift_moves_the_middle_by_up_to_its_share_of_the_side():
    moved = only(shift=0.1)(many(disc()), [1, 2]).numpy()[..., 0]
    y, x = np.mgrid[:33, :33] - 16
    weight = moved.sum(axis=(1, 2))
    for axis in (y, x):
        middle = (moved * axis).sum(axis=(1, 2)) / weight
        assert 2.9 < np.abs(middle).max() < 3.35


def test_scale_keeps_the_middle_and_changes_the_size():
    scaled = only(scale=0.2)(many(disc()), [1, 2]).numpy()[..., 0]
    _, x = np.mgrid[:33, :33] - 16
    weight = scaled.sum(axis=(1, 2))
    assert np.abs((scaled * x).sum(axis=(1, 2)) / weight).max() < 0.05
    radius = np.sqrt(weight / 255 / np.pi)
    assert radius.min() == pytest.approx(8 * 0.8, abs=0.2)
    assert radius.max() == pytest.approx(8 * 1.2, abs=0.2)


def test_rotation_turns_about_the_middle():
    bar = np.zeros((1, 33, 33, 1), np.float32)
    bar[:, 16, 4:29] = 255
    turned = only(rotation=20)(many(bar), [1, 2]).numpy()[..., 0]
    y, x = np.mgrid[:33, :33] - 16
    angles = np.degrees(
        np.arctan2((turned * y * x).sum(axis=(1, 2)), (turned * x * x).sum(axis=(1, 2)))
    )
    assert angles.max() == pytest.approx(20, abs=1)
    assert angles.min() == pytest.approx(-20, abs=1)


def test_brightness_and_contrast_stay_within_their_ranges():
    grey = many(np.full((1, 2, 2, 1), 127.5, np.float32))
    offsets = only(brightness=0.1)(grey, [1, 2]).numpy() - 127.5
    assert 25 < np.abs(offsets).max() <= 25.51
    light = many(np.full((1, 2, 2, 1), 177.5, np.float32))
    gains = (only(contrast=0.2)(light, [1, 2]).numpy() - 127.5) / 50
    assert gains.min() == pytest.approx(0.8, abs=0.01)
    assert gains.max() == pytest.approx(1.2, abs=0.01)


def test_what_moves_in_has_the_colour_of_the_edge():
    white = many(np.full((1, 16, 16, 1), 255.0, np.float32))
    moved = only(shift=0.2, scale=0.2, rotation=20)(white, [1, 2]).numpy()
    np.testing.assert_allclose(moved, 255, atol=0.01)


def test_range_out_of_bounds_is_refused():
    with pytest.raises(ValueError, match=r"`scale` .* Received: 1\.5"):
        Augmentation(scale=1.5)
