import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes, polar

from keras_bct.adapters import Procrustes

SIDES = {"old_fingerprint": "old-model", "new_fingerprint": "new-model"}


def padded(rows, size):
    return np.pad(rows, ((0, 0), (0, size - rows.shape[1])))


@pytest.mark.parametrize(("old_size", "new_size"), [(5, 5), (3, 6), (6, 3)])
def test_is_scipys_rotation_of_centred_pairs(make_pairs, old_size, new_size):
    old, new = make_pairs(old_size=old_size, new_size=new_size)
    size = max(old_size, new_size)
    expected, _ = orthogonal_procrustes(
        padded(old - old.mean(axis=0), size), padded(new - new.mean(axis=0), size)
    )

    adapter = Procrustes().fit(old, new, **SIDES)

    np.testing.assert_allclose(
        adapter.map.matrix, expected[:old_size, :new_size], atol=1e-10
    )
    np.testing.assert_allclose(
        adapter.transform(old).mean(axis=0), new.mean(axis=0), atol=1e-10
    )


@pytest.mark.parametrize(("old_size", "new_size"), [(3, 3), (3, 5), (5, 3)])
def test_no_other_covaries_more_and_none_between_such_sizes_errs_less(
    make_pairs, old_size, new_size
):
    old, new = make_pairs(old_size=old_size, new_size=new_size, noise=1.0)
    old, new = old - old.mean(axis=0), new - new.mean(axis=0)
    found = Procrustes().fit(old, new, **SIDES).map.matrix

    generator = np.random.default_rng(0)
    for _ in range(200):
        # A little away from it, and orthonormal again: scipy's polar factor.
        other, _ = polar(found + 0.1 * generator.normal(size=found.shape))
        assert np.vdot(old @ other, new) < np.vdot(old @ found, new)
        if old_size <= new_size:
            assert ((old @ other - new) ** 2).sum() > ((old @ found - new) ** 2).sum()


def test_to_fewer_components_it_is_not_the_one_of_least_error():
    generator = np.random.default_rng(0)
    old = generator.normal(size=(200, 3)) * [1.0, 1.0, 9.0]
    new = old[:, :2]

    mapped = Procrustes().fit(old, new, **SIDES).transform(old)

    # Leaving out the third component would err nowhere; by chance it covaries.
    assert ((mapped - new) ** 2).mean() > 0.1


@given(
    old_size=st.integers(1, 6), new_size=st.integers(1, 6), seed=st.integers(0, 1000)
)
@settings(max_examples=30)
def test_rows_or_columns_are_orthonormal(old_size, new_size, seed):
    generator = np.random.default_rng(seed)
    matrix = (
        Procrustes()
        .fit(
            generator.normal(size=(20, old_size)),
            generator.normal(size=(20, new_size)),
            **SIDES,
        )
        .map.matrix
    )

    product = matrix @ matrix.T if old_size <= new_size else matrix.T @ matrix
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-10)


@given(seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_recovers_a_rotation_and_a_shift(seed):
    generator = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(generator.normal(size=(4, 4)))
    old = generator.normal(size=(30, 4))
    shift = generator.normal(size=4)

    adapter = Procrustes().fit(old, old @ turn + shift, **SIDES)

    unseen = generator.normal(size=(3, 4))
    np.testing.assert_allclose(
        adapter.transform(unseen), unseen @ turn + shift, atol=1e-9
    )


def test_goes_back_exactly_where_no_component_is_lost(make_pairs):
    old, new = make_pairs(old_size=3, new_size=6)
    adapter = Procrustes().fit(old, new, **SIDES)

    np.testing.assert_allclose(
        adapter.inverse_transform(adapter.transform(old)), old, atol=1e-10
    )


def test_has_no_way_back_where_components_are_lost(make_pairs):
    adapter = Procrustes().fit(*make_pairs(old_size=6, new_size=3), **SIDES)

    with pytest.raises(ValueError, match=r"from 6 to 3 components .* no inverse"):
        adapter.inverse_transform(np.ones((1, 3)))


def test_backward_is_the_transpose_of_forward(make_pairs):
    old, new = make_pairs()
    forward = Procrustes().fit(old, new, **SIDES)
    backward = Procrustes().fit_backward(old, new, **SIDES)

    np.testing.assert_allclose(backward.map.matrix, forward.map.matrix.T, atol=1e-10)
    assert (forward.direction, backward.direction) == ("old-to-new", "new-to-old")


def test_too_few_pairs_are_refused(make_pairs):
    old, new = make_pairs(pairs=5)

    with pytest.raises(ValueError, match=r"at least 6 pairs. Received: 5"):
        Procrustes().fit(old, new, **SIDES)
