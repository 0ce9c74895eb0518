import numpy as np
import pytest

from keras_bct.adapters import LowRank


def least_squares(old, new):
    """Fitted values of the affine map, less their mean."""
    design = np.column_stack([old, np.ones(len(old))])
    return design @ np.linalg.lstsq(design, new, rcond=None)[0] - new.mean(axis=0)


@pytest.mark.parametrize(("old_size", "new_size"), [(5, 5), (3, 6), (6, 3)])
def test_of_full_rank_it_is_least_squares(make_pairs, sides, old_size, new_size):
    old, new = make_pairs(old_size=old_size, new_size=new_size)

    adapter = LowRank(min(old_size, new_size)).fit(old, new, **sides)

    np.testing.assert_allclose(
        adapter.transform(old), least_squares(old, new) + new.mean(axis=0), atol=1e-8
    )


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_its_fitted_values_are_the_nearest_of_that_rank(make_pairs, sides, rank):
    old, new = make_pairs(noise=1.0)
    left, values, right = np.linalg.svd(least_squares(old, new), full_matrices=False)
    nearest = (left[:, :rank] * values[:rank]) @ right[:rank]

    adapter = LowRank(rank).fit(old, new, **sides)

    np.testing.assert_allclose(
        adapter.transform(old), nearest + new.mean(axis=0), atol=1e-8
    )
    assert np.linalg.matrix_rank(adapter.map.matrix, tol=1e-8) == rank
    assert adapter.settings == {"rank": rank}


def test_source_components_may_depend_on_each_other(make_pairs, sides):
    old, new = make_pairs()
    old[:, 4] = old[:, 0] + old[:, 1]

    adapter = LowRank(5).fit(old, new, **sides)

    np.testing.assert_allclose(
        adapter.transform(old), least_squares(old, new) + new.mean(axis=0), atol=1e-8
    )


@pytest.mark.parametrize("pairs", [8000, 20_000])
def test_a_large_component_hides_no_small_one(make_pairs, sides, pairs):
    old, new = make_pairs(pairs=pairs)
    old = (old * [1.0, 2000.0, 1.0, 1e-6, 1.0]).astype(np.float32)

    adapter = LowRank(5).fit(old, new.astype(np.float32), **sides)

    np.testing.assert_allclose(
        adapter.transform(old.astype(float)),
        least_squares(old.astype(float), new) + new.mean(axis=0),
        atol=1e-5,
    )


def test_many_float32_components_may_depend_on_each_other_or_never_change(sides):
    # Whole numbers, so that the dependence is exact in float32.
    generator = np.random.default_rng(0)
    free = generator.integers(-9, 10, size=(20_000, 24))
    turn = generator.integers(-2, 3, size=(24, 100))
    old = np.hstack([free @ turn, np.full((20_000, 2), [0.0, 0.1])])
    new = free[:, :30] @ generator.normal(size=(24, 5))

    adapter = LowRank(5).fit(old.astype(np.float32), new.astype(np.float32), **sides)

    np.testing.assert_allclose(adapter.transform(old), new, atol=1e-3)
    assert np.abs(adapter.map.matrix).max() < 1


def test_has_no_way_back(make_pairs, sides):
    adapter = LowRank(2).fit(*make_pairs(), **sides)

    with pytest.raises(ValueError, match="no inverse"):
        adapter.inverse_transform(np.ones((1, 5)))


def test_a_rank_above_the_sizes_is_refused(make_pairs, sides):
    with pytest.raises(ValueError, match=r"`rank` should be at most 3.* Received: 4"):
        LowRank(4).fit(*make_pairs(old_size=3), **sides)


@pytest.mark.parametrize("rank", [0, 2.5, np.nan, np.inf, "3", None, True])
def test_a_rank_that_is_no_whole_number_above_zero_is_refused(rank):
    with pytest.raises(ValueError, match="`rank` should be a whole number, at least 1"):
        LowRank(rank)


def test_too_few_pairs_are_refused(make_pairs, sides):
    with pytest.raises(ValueError, match=r"at least 7 pairs. Received: 6"):
        LowRank(1).fit(*make_pairs(pairs=6), **sides)


def test_float64_rows_keep_small_directions_of_many_pairs(sides):
    generator = np.random.default_rng(0)
    spread = np.geomspace(1, 1 / 3000, 16)
    turn = np.linalg.qr(generator.normal(size=(16, 16)))[0]
    new = generator.normal(size=(10_000, 16))
    old = (new * spread) @ turn

    adapter = LowRank(16).fit(old, new, **sides)

    np.testing.assert_allclose(adapter.transform(old), new, atol=1e-8)
