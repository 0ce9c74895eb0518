import numpy as np
import pytest

from keras_bct.backfill import predicted_variance


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_one_variance_an_item_is_its_own_priority(shape):
    log_variance = np.array([-1.0, 2.0, 0.5], np.float32).reshape(shape)

    assert predicted_variance(log_variance).tolist() == [-1.0, 2.0, 0.5]


def test_variances_of_components_are_summed():
    variances = np.array([[1.0, 3.0], [2.0, 2.5]])

    found = predicted_variance(np.log(variances))

    np.testing.assert_allclose(np.exp(found), [4.0, 4.5])


def test_large_logarithms_do_not_overflow():
    found = predicted_variance(np.array([[1000.0, 1000.0], [-1000.0, -1000.0]]))

    np.testing.assert_allclose(found, [1000 + np.log(2), -1000 + np.log(2)])


@pytest.mark.parametrize(
    ("log_variance", "message"),
    [
        (np.array([[0.0, 0.0], [np.nan, 0.0]]), "infinity in row 1"),
        (np.zeros((2, 2, 2)), r"shape \(n,\) or \(n, d\)"),
        (np.zeros((2, 0)), r"shape \(n,\) or \(n, d\)"),
        (np.zeros(2, int), "floating type"),
        (None, "None, since a closed-form map predicts none.*random_order"),
    ],
)
def test_what_is_no_variance_is_refused(log_variance, message):
    with pytest.raises(ValueError, match=message):
        predicted_variance(log_variance)
