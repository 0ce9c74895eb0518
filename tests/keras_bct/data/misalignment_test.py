import numpy as np

from keras_bct.data import Misalignment


def test_without_a_change_pictures_stay(changed, faces):
    np.testing.assert_allclose(changed(Misalignment(), 0, 0, 0, 0), faces, atol=1e-3)


def test_shift_moves_whole_pixels_and_repeats_the_edge(changed, faces):
    # A tenth of 10 columns to the right, a quarter of 12 rows up.
    right = changed(Misalignment(shift=0.1), 0, 0, 1, 0)
    np.testing.assert_allclose(right[:, :, 1:], faces[:, :, :-1], atol=1e-3)
    np.testing.assert_allclose(right[:, :, 0], faces[:, :, 0], atol=1e-3)
    up = changed(Misalignment(shift=0.25), 0, 0, 0, -1)
    np.testing.assert_allclose(up[:, :-3], faces[:, 3:], atol=1e-3)
    np.testing.assert_allclose(up[:, -1], faces[:, -1], atol=1e-3)


def test_rotation_by_a_right_angle_turns_the_picture(changed, faces):
    square = faces[:, :9, :9]
    turned = changed(Misalignment(rotation=90), 0, 1, 0, 0, images=square)
    np.testing.assert_allclose(turned, np.rot90(square, -1, axes=(1, 2)), atol=1e-2)


def test_scale_keeps_the_centre_and_enlarges(changed):
    ramp = np.tile(np.arange(11, dtype=np.float32)[None, None, :, None], (1, 11, 1, 1))
    larger = changed(Misalignment(scale=0.25), 1, 0, 0, 0, images=ramp)
    # Twice as large would halve the slope; here it falls to 1 / 1.25.
    np.testing.assert_allclose(larger[0, 5, :, 0], 5 + (np.arange(11) - 5) / 1.25)
