import numpy as np
import pytest

from keras_bct.adapters.near_rotation import deviation, least_squares_within, nearest

SHAPES = [(4, 4), (6, 3), (3, 6)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_deviation_is_that_of_the_smaller_gram_matrix(shape):
    matrix = np.random.default_rng(0).normal(size=shape)
    gram = matrix.T @ matrix if shape[0] >= shape[1] else matrix @ matrix.T

    expected = np.linalg.norm(gram - np.eye(min(shape)))

    assert deviation(matrix) == pytest.approx(expected)


@pytest.mark.parametrize("bound", [0.0, 0.01, 1.0, 3.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_nearest_keeps_the_bound_and_nothing_within_it_is_nearer(shape, bound):
    generator = np.random.default_rng(1)
    matrix = 2 * generator.normal(size=shape)

    found = nearest(matrix, bound)

    assert deviation(found) == pytest.approx(bound, abs=1e-6)
    distance = np.linalg.norm(found - matrix)
    for _ in range(200):
        other = found + 0.1 * generator.normal(size=shape)
        left, values, right = np.linalg.svd(other, full_matrices=False)
        for share in np.linspace(0, 1, 20):
            drawn = (left * (1 + share * (values - 1))) @ right
            if deviation(drawn) <= bound:
                assert np.linalg.norm(drawn - matrix) >= distance - 1e-6


def test_what_is_within_the_bound_stays():
    matrix = np.diag([1.0, 1.1])

    assert nearest(matrix, 0.5) is matrix


def test_squared_error_is_no_less_at_any_neighbour_within_the_bound():
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(500, 4)) * [0.3, 0.5, 1.0, 2.0]
    wanted = rows @ generator.normal(size=(4, 4)) + generator.normal(size=(500, 4))
    power, along = rows.T @ rows / 500, rows.T @ wanted / 500

    def error(matrix):
        return ((rows @ matrix - wanted) ** 2).sum() / 500

    found = least_squares_within(power, along, 0.7, np.eye(4))

    assert deviation(found) <= 0.7 + 1e-6
    assert error(found) < error(np.eye(4))
    for size in (0.3, 0.03):
        for _ in range(200):
            other = nearest(found + size * generator.normal(size=(4, 4)), 0.7)
            assert error(other) >= error(found) - 1e-5


def test_without_a_bound_that_matters_it_is_least_squares():
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(200, 3))
    wanted = rows @ generator.normal(size=(3, 2)) + generator.normal(size=(200, 2))

    found = least_squares_within(rows.T @ rows, rows.T @ wanted, 1e6, np.eye(3, 2))

    expected = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    np.testing.assert_allclose(found, expected, atol=1e-3)
