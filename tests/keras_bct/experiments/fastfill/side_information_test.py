import numpy as np

from keras_bct.experiments.fastfill.side_information import nt_xent


def test_copy_of_the_same_picture_must_be_the_nearest():
    # Rows 0 and 2 are copies of one picture, 1 and 3 of another.
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]], np.float32)
    # Each row's copy has cosine 1, the two others 0; T = 0.5.
    wanted = np.log(np.exp(2.0) + 2) - 2.0
    np.testing.assert_allclose(nt_xent(rows, 0.5), wanted, rtol=1e-6)
