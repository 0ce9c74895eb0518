import numpy as np
import pytest

from keras_bct.data import ColourDistortion


def test_without_a_change_pictures_stay(changed, faces):
    np.testing.assert_allclose(
        changed(ColourDistortion(), 0, 0, 0, 0), faces, atol=1e-2
    )


def test_brightness_and_contrast_are_about_mid_grey(changed):
    grey = np.full((1, 2, 2, 3), 100.0, np.float32)
    brighter = changed(ColourDistortion(brightness=0.1), 0, 1, 0, 0, images=grey)
    np.testing.assert_allclose(brighter, 125.5, atol=1e-2)
    flatter = changed(ColourDistortion(contrast=0.2), -1, 0, 0, 0, images=grey)
    np.testing.assert_allclose(flatter, 127.5 - 0.8 * 27.5, atol=1e-2)


def test_colours_stay_within_the_range(changed):
    result = changed(ColourDistortion(brightness=0.9), 0, 1, 0, 0)
    assert result.max() == 255
    result = changed(ColourDistortion(brightness=0.9), 0, -1, 0, 0)
    assert result.min() == 0


def test_saturation_and_hue_leave_grey_and_brightness(changed, faces):
    layer = ColourDistortion(saturation=0.3, hue=20)
    grey = np.full((1, 2, 2, 3), 77.0, np.float32)
    np.testing.assert_allclose(changed(layer, 0, 0, 1, 1, images=grey), 77, atol=1e-2)
    muted = 127.5 + 0.2 * (faces - 127.5)
    result = changed(layer, 0, 0, 1, -1, images=muted)
    weights = np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(result @ weights, muted @ weights, atol=1e-2)
    assert np.abs(result - muted).max() > 1


def test_hue_turns_back(changed, faces):
    layer = ColourDistortion(hue=15)
    muted = 127.5 + 0.2 * (faces - 127.5)
    there = changed(layer, 0, 0, 0, 1, images=muted)
    np.testing.assert_allclose(
        changed(layer, 0, 0, 0, -1, images=there), muted, atol=1e-2
    )


def test_grey_pictures_have_brightness_and_contrast_only(changed, faces):
    grey = faces[..., :1]
    result = changed(ColourDistortion(), 1, 0.5, 1, 1, images=grey)
    expected = (127.5 + 1.2 * (grey - 127.5) + 12.75).clip(0, 255)
    np.testing.assert_allclose(result, expected, atol=1e-2)


def test_pictures_of_two_channels_are_refused(changed, faces):
    with pytest.raises(ValueError, match="1 channel or 3"):
        changed(ColourDistortion(), 0, 0, 0, 0, images=faces[..., :2])
