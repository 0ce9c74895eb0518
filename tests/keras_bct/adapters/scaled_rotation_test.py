import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from keras_bct.adapters import ScaledRotation


def test_scales_by_least_squares_after_scipys_rotation(make_pairs, sides):
    old, new = make_pairs(noise=1.0)
    old_centred, new_centred = old - old.mean(axis=0), new - new.mean(axis=0)
    turn, _ = orthogonal_procrustes(old_centred, new_centred)
    turned = old_centred @ turn
    expected = np.empty_like(new)
    for j in range(5):
        column = turned[:, j : j + 1]
        scale = np.linalg.lstsq(column, new_centred[:, j], rcond=None)[0]
        assert scale >= 0
        expected[:, j] = column @ scale + new[:, j].mean()

    adapter = ScaledRotation().fit(old, new, **sides)

    np.testing.assert_allclose(adapter.transform(old), expected, atol=1e-9)


@pytest.mark.parametrize("pairs", [8000, 20_000])
def test_a_large_component_hides_no_small_one(sides, pairs):
    generator = np.random.default_rng(0)
    old = generator.normal(size=(pairs, 3)) * [1.0, 2000.0, 1e-3]
    old = old.astype(np.float32)

    matrix = ScaledRotation().fit(old, 2 * old, **sides).map.matrix

    np.testing.assert_allclose(matrix, 2 * np.eye(3), atol=1e-5)


@pytest.mark.parametrize(("old_size", "new_size"), [(3, 6), (6, 3)])
def test_takes_sizes_that_differ(make_pairs, sides, old_size, new_size):
    old, new = make_pairs(old_size=old_size, new_size=new_size)

    mapped = ScaledRotation().fit(old, new, **sides).transform(old)

    assert mapped.shape == new.shape
    # No worse than the mean of the new side, which is scale 0.
    assert ((mapped - new) ** 2).sum() < ((new.mean(axis=0) - new) ** 2).sum()


def test_a_component_without_variance_gets_no_scale(sides):
    generator = np.random.default_rng(0)
    old = generator.normal(size=(20, 2)) * [1.0, 0.0]

    matrix = ScaledRotation().fit(old, old * 3.0, **sides).map.matrix

    np.testing.assert_allclose(np.abs(matrix), [[3.0, 0.0], [0.0, 0.0]], atol=1e-9)
