import numpy as np
import pytest

from keras_bct.adapters import NewToOld, ResidualMLP, Ridge


def bent_pairs(pairs=3000, seed=0):
    """Gives pairs that no affine map relates: new components are folded."""
    generator = np.random.default_rng(seed)
    old = generator.normal(size=(pairs, 4)).astype(np.float32) + 5
    turn = np.random.default_rng(9).normal(size=(4, 3))
    return old, (10 * np.abs((old - 5) @ turn)).astype(np.float32)


def error(adapter, rows, wanted):
    return ((adapter.transform(rows) - wanted) ** 2).sum(axis=1).mean()


@pytest.fixture(scope="module")
def fitted():
    sides = {"old_fingerprint": "old-model", "new_fingerprint": "new-model"}
    return ResidualMLP(units=64, epochs=30, learning_rate=0.01).fit(
        *bent_pairs(), **sides
    )


def test_learns_what_ridge_cannot(fitted, sides):
    unseen = bent_pairs(seed=1)
    ridge = Ridge().fit(*bent_pairs(), **sides)

    assert error(fitted, *unseen) < 0.1 * error(ridge, *unseen)


def test_says_what_it_reached_on_pairs_that_it_did_not_see(fitted):
    reached = fitted.settings["held_out_error"]

    assert reached == pytest.approx(error(fitted, *bent_pairs(seed=1)), rel=0.5)
    assert reached < fitted.settings["ridge_held_out_error"]
    assert 1 <= fitted.settings["epochs"] <= 30
    assert fitted.pairs == 3000


def test_the_same_seed_gives_the_same_map(sides):
    method = ResidualMLP(units=16, epochs=2, seed=3)
    one, other = (method.fit(*bent_pairs(500), **sides) for _ in range(2))

    rows = bent_pairs(50, seed=1)[0]
    np.testing.assert_allclose(one.transform(rows), other.transform(rows), rtol=1e-4)


def test_is_ridge_where_the_network_does_not_help(sides):
    generator = np.random.default_rng(0)
    old = generator.normal(size=(300, 4))
    new = old @ generator.normal(size=(4, 4)) + generator.normal(size=(300, 4))

    adapter = ResidualMLP(units=256, epochs=3, learning_rate=0.5).fit(old, new, **sides)

    assert adapter.settings["epochs"] == 0
    assert not adapter.map.output_matrix.any()
    assert (
        adapter.settings["held_out_error"] == adapter.settings["ridge_held_out_error"]
    )


def test_goes_backward_and_reads_memory_mapped_rows(sides, tmp_path):
    old, new = bent_pairs(400)
    for name, rows in (("old", old), ("new", new)):
        np.save(tmp_path / f"{name}.npy", rows)
    old, new = (
        np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("old", "new")
    )

    adapter = ResidualMLP(units=8, epochs=1).fit_backward(old, new, **sides)

    assert type(adapter) is NewToOld
    assert adapter.transform(new).shape == old.shape


def test_a_bad_row_is_named_before_any_training(sides):
    old, new = bent_pairs(200)
    new[150, 1] = np.inf

    with pytest.raises(ValueError, match=r"`new` .* infinity in row 150"):
        ResidualMLP().fit(old, new, **sides)


def test_too_few_pairs_are_refused(sides):
    with pytest.raises(ValueError, match=r"at least 100 pairs. Received: 99"):
        ResidualMLP().fit(*bent_pairs(99), **sides)


@pytest.mark.parametrize("value", [-1, 2.5, np.nan, "9", None])
@pytest.mark.parametrize("name", ["units", "epochs", "batch_size", "seed"])
def test_counts_that_are_no_whole_numbers_are_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` should be a whole number"):
        ResidualMLP(**{name: value})


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "0.1"])
def test_a_learning_rate_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="`learning_rate` should be above zero"):
        ResidualMLP(learning_rate=value)


def test_numbers_may_be_numpys(sides):
    method = ResidualMLP(
        units=np.int64(4), epochs=np.int32(1), seed=np.int64(1), batch_size=np.int64(64)
    )

    assert method.fit(*bent_pairs(200), **sides).settings["units"] == 4


@pytest.mark.parametrize(("side", "unit"), [(0, 1e-60), (0, 1e60), (1, 1e60)])
def test_a_unit_for_which_float32_has_no_weights_is_refused(sides, side, unit):
    pairs = [rows.astype(np.float64) for rows in bent_pairs(200)]
    pairs[side] *= unit

    with pytest.raises(ValueError, match=r"float32.* Received"):
        ResidualMLP(units=4, epochs=1).fit(*pairs, **sides)
