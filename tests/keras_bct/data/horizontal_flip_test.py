import keras
import numpy as np

from keras_bct.data import HorizontalFlip


def test_flip_mirrors_the_pictures_that_are_drawn(faces):
    flip = HorizontalFlip(probability=0.25)
    draws = np.array([[-0.9, -0.4, 0.9]], np.float32)
    result = keras.ops.convert_to_numpy(
        flip.change(keras.ops.convert_to_tensor(faces), draws)
    )
    np.testing.assert_array_equal(result[0], faces[0, :, ::-1])
    np.testing.assert_array_equal(result[1:], faces[1:])
