import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bct.adapters import (
    LambdaOrthogonal,
    LowRank,
    Procrustes,
    Ridge,
    ScaledRotation,
    gather,
)

SIDES = {"old_fingerprint": "old-model", "new_fingerprint": "new-model"}
METHODS = (
    Procrustes(),
    Ridge(),
    LowRank(2),
    ScaledRotation(),
    LambdaOrthogonal(bound=0.1),
)


def cut(old, new, sizes):
    """Gives the pairs in blocks of these sizes, over and over."""
    start, turn = 0, 0
    while start < len(old):
        stop = start + sizes[turn % len(sizes)]
        yield old[start:stop], new[start:stop]
        start, turn = stop, turn + 1


def test_is_numpys_covariance_times_the_pairs():
    generator = np.random.default_rng(0)
    source = generator.normal(size=(9000, 3)) + 100
    target = generator.normal(size=(9000, 2)) + source[:, :2]
    expected = np.cov(source.T, target.T, bias=True) * 9000

    statistics = gather([(source, target)])

    assert statistics.pairs == 9000
    np.testing.assert_allclose(statistics.source_mean, source.mean(axis=0))
    np.testing.assert_allclose(statistics.target_mean, target.mean(axis=0))
    np.testing.assert_allclose(statistics.source_scatter, expected[:3, :3])
    np.testing.assert_allclose(statistics.cross_scatter, expected[:3, 3:])
    assert statistics.target_power == pytest.approx(np.trace(expected[3:, 3:]))


@pytest.mark.parametrize("offset", [0.0, 1.0, 1000.0])
def test_many_float32_pairs_lose_no_digits_that_count(offset):
    generator = np.random.default_rng(0)
    source = (generator.normal(size=(150_000, 4)) + offset).astype(np.float32)
    target = (generator.normal(size=(150_000, 3)) - offset).astype(np.float32)
    target += source[:, :3]
    expected = np.cov(source.astype(float).T, target.astype(float).T, bias=True)

    found = gather([(source, target)], sample_pairs=0)

    spread = 150_000 * 2.0
    np.testing.assert_allclose(
        found.source_scatter / spread, expected[:4, :4] / 2, atol=1e-6
    )
    np.testing.assert_allclose(
        found.cross_scatter / spread, expected[:4, 4:] / 2, atol=1e-6
    )
    np.testing.assert_allclose(
        found.source_mean, source.mean(axis=0, dtype=float), atol=1e-8
    )
    assert found.target_power / 150_000 == pytest.approx(
        np.trace(expected[4:, 4:]), rel=1e-6
    )


@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_no_component_costs_another_its_digits(constant):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(100_000, 4)) * [1.0, 1000.0, 1.0, 0.0]
    rows = np.add(rows, [1000.0, 0.0, 0.0, constant]).astype(np.float32)
    exact = rows.astype(float)
    size = np.sqrt(np.var(exact, axis=0) * 100_000)
    size[3] = 1.0

    found = gather([(rows, rows)], sample_pairs=0)

    np.testing.assert_allclose(
        found.source_scatter / size / size[:, None],
        np.cov(exact.T, bias=True) * 100_000 / size / size[:, None],
        atol=1e-6,
    )


@pytest.mark.parametrize("scale", [2.0**80, 2.0**-80])
@pytest.mark.parametrize("zeros", [0, 9000])
def test_rows_that_float32_cannot_square_are_squared_in_float64(scale, zeros):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(20_000, 2)).astype(np.float32)
    rows[:zeros] = 0
    plain = gather([(rows, rows)])
    scaled = gather([(rows * np.float32(scale),) * 2])

    assert scaled.target_power == pytest.approx(plain.target_power * scale**2)
    for name in ("source_scatter", "cross_scatter"):
        np.testing.assert_allclose(
            getattr(scaled, name) / scale**2, getattr(plain, name), rtol=1e-5
        )


def test_a_sum_of_squares_that_float64_cannot_hold_is_refused():
    rows = np.random.default_rng(0).normal(size=(20_000, 2))

    # A square is about 1e304: the sum of 4096 is held, that of 20,000 is not.
    with pytest.raises(ValueError, match=r"`source` and `target` should be small"):
        gather([(rows * 1e152, rows)])
    with pytest.raises(ValueError, match=r"`source` and `target` should be small"):
        gather([(rows, rows * 1e152)])


def test_a_bad_row_is_found_behind_the_pairs_that_are_multiplied_exactly():
    rows = np.ones((70_000, 2), np.float32) * np.arange(70_000.0)[:, None] % 7
    rows = rows.astype(np.float32)
    bad = rows.copy()
    bad[69_999, 1] = np.inf

    with pytest.raises(ValueError, match=r"`target` .* infinity in row 69999"):
        gather([(rows, bad)])


def test_a_stream_may_change_its_precision():
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    halves = [(rows[:700].astype(np.float16),) * 2, (rows[700:],) * 2]

    found = gather(halves)

    joined = np.concatenate([halves[0][0].astype(float), rows[700:]])
    np.testing.assert_allclose(
        found.source_scatter, np.cov(joined.T, bias=True) * 3000, rtol=1e-10
    )


def test_a_mean_far_above_the_spread_costs_no_digits():
    generator = np.random.default_rng(0)
    spread = generator.integers(-3, 4, size=(9000, 1)).astype(float)

    statistics = gather([(spread + 1e8, spread)])

    np.testing.assert_allclose(
        statistics.source_scatter, statistics.cross_scatter, rtol=1e-7
    )


@given(sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=4))
@settings(max_examples=10)
def test_how_the_pairs_are_cut_does_not_matter(sizes):
    generator = np.random.default_rng(1)
    old = generator.normal(size=(9001, 3)).astype(np.float32)
    new = generator.normal(size=(9001, 4)).astype(np.float32) + old[:, :1]
    sizes = [max(size, 40) for size in sizes]
    whole, cut_up = gather([(old, new)]), gather(cut(old, new, sizes))

    for name, value in vars(whole).items():
        if name == "sample":
            np.testing.assert_array_equal(value[0], cut_up.sample[0])
            np.testing.assert_array_equal(value[1], cut_up.sample[1])
        else:
            np.testing.assert_allclose(getattr(cut_up, name), value, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_fit_in_blocks_is_the_fit_at_once(make_pairs, method):
    old, new = make_pairs(pairs=300)
    for whole, in_blocks in (
        (method.fit(old, new, **SIDES), method.fit_blocks),
        (method.fit_backward(old, new, **SIDES), method.fit_backward_blocks),
    ):
        streamed = in_blocks(cut(old, new, [7, 1, 50]), **SIDES)

        assert type(streamed) is type(whole)
        assert streamed.pairs == 300
        np.testing.assert_allclose(streamed.map.matrix, whole.map.matrix, rtol=1e-10)


@pytest.mark.parametrize("far", [10.0, 50.0])
def test_one_item_many_times_over_at_the_start_costs_no_digits(far):
    """Blank pictures, for example, which no other item is near."""
    rows = np.random.default_rng(0).normal(size=(20_000, 16)).astype(np.float32)
    rows[:512] = far
    exact = np.cov(rows.astype(float).T, bias=True) * len(rows)

    for ordered in (rows, rows[::-1]):
        found = gather([(ordered, ordered)]).source_scatter
        np.testing.assert_allclose(found, exact, atol=3e-6 * np.abs(exact).max())


def test_the_sample_is_even_over_the_stream():
    rows = np.arange(40_000.0)[:, None]

    kept = gather([(rows, rows)]).sample[0][:, 0]

    assert len(np.unique(kept)) == 2048
    assert (np.diff(kept) > 0).all(), "not in the order of the stream"
    # Of a uniform sample: standard error of the mean 0.0064 of the range.
    assert kept.mean() / 40_000 == pytest.approx(0.5, abs=0.03)


def test_the_sample_is_the_pairs_with_the_lowest_keys():
    rows = np.arange(40_000.0)[:, None]

    source, target = gather([(rows, -rows)], seed=3).sample

    # NumPy gives the same numbers in one draw and in many.
    keys = np.random.default_rng(3).random(40_000)
    lowest = np.sort(np.argsort(keys)[:2048])
    np.testing.assert_array_equal(source[:, 0], lowest)
    np.testing.assert_array_equal(target[:, 0], -lowest)


def test_rows_that_come_in_a_wider_type_keep_their_digits_in_the_sample():
    narrow = np.random.default_rng(0).normal(size=(4096, 2)).astype(np.float32)
    wide = np.random.default_rng(1).normal(size=(4096, 2))

    source, _ = gather([(narrow, narrow), (wide, wide)]).sample

    known = np.concatenate([narrow.astype(float), wide])
    assert len(source) == 2048
    assert (source[:, None, 0] == known[:, 0]).any(axis=1).all()


def test_the_power_of_the_target_is_only_made_where_it_is_asked_for():
    rows = np.eye(3)

    assert np.isnan(gather([(rows, rows)], target_power=False).target_power)


def test_the_scatter_of_a_side_itself_is_only_made_where_it_is_asked_for():
    rows = np.random.default_rng(0).normal(size=(50, 3))

    found = gather([(rows, rows)], own_scatter=False)

    assert found.source_scatter.shape == (0, 0)
    np.testing.assert_array_equal(
        found.cross_scatter, gather([(rows, rows)]).cross_scatter
    )


def test_rows_that_vary_late_vary():
    rows = np.ones((9000, 2))
    rows[8999, 1] = 2.0

    assert gather([(rows, rows)]).target_power == pytest.approx(8999 / 9000)


def test_no_sample_is_kept_where_none_is_asked_for():
    source, target = gather([(np.eye(3), np.eye(3, 2))], sample_pairs=0).sample

    assert (source.shape, target.shape) == ((0, 3), (0, 2))


def test_memory_does_not_grow_with_the_pairs():
    def peak(blocks):
        rows = np.random.default_rng(0).normal(size=(4096, 8))
        tracemalloc.start()
        gather((rows, rows) for _ in range(blocks))
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(40) < 1.1 * peak(4)


def test_no_pair_is_refused():
    with pytest.raises(ValueError, match="at least one pair"):
        gather([])


def test_a_block_of_another_size_is_refused():
    blocks = [(np.eye(3), np.eye(3)), (np.eye(2), np.eye(3)[:2])]

    with pytest.raises(ValueError, match=r"`source` should have shape \(n, 3\)"):
        gather(blocks)


def test_a_bad_row_is_named_by_its_number_in_the_stream():
    bad = np.eye(3)
    bad[1, 2] = np.nan

    with pytest.raises(ValueError, match=r"`new` .* infinity in row 4"):
        Ridge().fit_blocks([(np.eye(3), np.eye(3)), (np.eye(3), bad)], **SIDES)


def test_a_stream_without_variance_is_refused():
    same = np.full((10, 3), 0.1)

    with pytest.raises(ValueError, match="`new` should vary"):
        Ridge().fit_blocks([(np.eye(10, 3), same)], **SIDES)


@pytest.mark.parametrize("fit", ["fit_blocks", "fit_backward_blocks"])
@pytest.mark.parametrize("together", [tuple, np.stack, lambda sides: [sides[0]]])
def test_blocks_that_are_no_pairs_are_refused(make_pairs, fit, together):
    """Such as both sides whole, as the fits without blocks take them."""
    blocks = together(make_pairs())

    with pytest.raises(ValueError, match=r"`blocks` should give pairs.*\(60, 5\)"):
        getattr(Ridge(), fit)(blocks, **SIDES)
