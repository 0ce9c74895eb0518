import keras
import numpy as np
import pytest

from keras_bct.layers import UncertaintyHead


def test_is_linear_without_activation():
    head = UncertaintyHead()
    head.build((None, 2))
    head.set_weights([np.array([[1.0], [-2.0]]), np.array([0.5])])
    found = head(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))
    np.testing.assert_allclose(found, [[3 - 8 + 0.5], [0.5]])


def test_one_variance_a_component():
    assert UncertaintyHead(4)(np.ones((2, 4), np.float32)).shape == (2, 4)


def test_comes_back_from_config_and_keras_file(tmp_path):
    head = UncertaintyHead(3)
    assert UncertaintyHead.from_config(head.get_config()).units == 3
    inputs = keras.Input((3,))
    model = keras.Model(inputs, head(inputs))
    head.set_weights([np.eye(3), np.arange(3.0)])
    model.save(tmp_path / "head.keras")
    loaded = keras.models.load_model(tmp_path / "head.keras")
    np.testing.assert_array_equal(loaded(np.ones((1, 3))), [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("variances", [0, 1.5])
def test_no_variance_is_refused(variances):
    with pytest.raises(ValueError, match=f"`variances` should be.*{variances}"):
        UncertaintyHead(variances)
