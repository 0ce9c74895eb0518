import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bct.adapters import (
    AffineMap,
    LowRank,
    NewToOld,
    OldToNew,
    Procrustes,
    Ridge,
    ScaledRotation,
)

METHODS = (Procrustes(), Ridge(), LowRank(2), ScaledRotation())
SIDES = {"old_fingerprint": "old-model", "new_fingerprint": "new-model"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_saved_and_loaded_it_is_the_same(make_pairs, tmp_path, method):
    old, new = make_pairs(dtype=np.float32)
    adapter = method.fit(old, new, **SIDES)
    adapter.save(tmp_path / "adapter")

    loaded = OldToNew.load(tmp_path / "adapter")

    np.testing.assert_array_equal(loaded.transform(old), adapter.transform(old))
    for name in ("method", "pairs", "settings", *SIDES):
        assert getattr(loaded, name) == getattr(adapter, name)
    assert loaded.method == method.name


@given(
    source=st.integers(1, 4),
    target=st.integers(1, 4),
    names=st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True),
    seed=st.integers(0, 99),
)
@settings(max_examples=20)
def test_every_map_survives_the_round_trip(
    tmp_path_factory, source, target, names, seed
):
    generator = np.random.default_rng(seed)
    directory = tmp_path_factory.mktemp("adapter")
    adapter = NewToOld(
        map=AffineMap(
            generator.normal(size=(source, target)), generator.normal(size=target)
        ),
        old_fingerprint=names[0],
        new_fingerprint=names[1],
        method="by hand",
        pairs=seed,
    )
    adapter.save(directory)
    loaded = NewToOld.load(directory)

    np.testing.assert_array_equal(loaded.map.matrix, adapter.map.matrix)
    np.testing.assert_array_equal(loaded.map.offset, adapter.map.offset)
    assert [loaded.old_fingerprint, loaded.new_fingerprint] == names


def test_one_direction_is_not_loaded_as_the_other(make_pairs, tmp_path):
    Ridge().fit_backward(*make_pairs(), **SIDES).save(tmp_path)

    with pytest.raises(ValueError, match=r"old-to-new. Received: .* is new-to-old"):
        OldToNew.load(tmp_path)


def test_rows_of_the_wrong_version_are_refused(make_pairs):
    old, new = make_pairs()
    forward = Procrustes().fit(old, new, **SIDES)
    backward = Procrustes().fit_backward(old, new, **SIDES)

    with pytest.raises(ValueError, match=r"'old-model': .* rows of 'new-model'"):
        forward.transform(new, fingerprint="new-model")
    with pytest.raises(ValueError, match=r"'new-model': .* rows of 'old-model'"):
        backward.transform(old, fingerprint="old-model")
    with pytest.raises(ValueError, match=r"'new-model': .* rows of 'third'"):
        forward.inverse_transform(new, fingerprint="third")
    assert backward.inverse_transform(old, fingerprint="old-model").shape == (60, 5)


def test_files_are_json_and_npy_without_pickle(make_pairs, tmp_path):
    Ridge().fit(*make_pairs(), **SIDES).save(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "adapter.json",
        "adapter_matrix.npy",
        "adapter_offset.npy",
    ]
    assert json.loads((tmp_path / "adapter.json").read_text())["method"] == "Ridge"


@pytest.mark.parametrize(
    ("change", "message"),
    [({"schema": 2}, "schema 1"), ({"more": 1}, "more")],
)
def test_another_description_is_refused(make_pairs, tmp_path, change, message):
    Ridge().fit(*make_pairs(), **SIDES).save(tmp_path)
    path = tmp_path / "adapter.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))

    with pytest.raises(ValueError, match=message):
        OldToNew.load(tmp_path)


def test_no_adapter_is_a_clear_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"should hold adapter\.json"):
        OldToNew.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        (np.ones(3), np.ones((3, 2)), ValueError, r"`old` should have shape \(n, d\)"),
        (np.eye(9, 2), np.eye(8, 2), ValueError, "Received: 9 and 8 rows"),
        (np.eye(9, 2), np.eye(9, 2, dtype=int), TypeError, "`new` .* dtype int"),
        (np.eye(9, 2), np.full((9, 2), np.inf), ValueError, "`new` should be finite"),
        (np.ones((9, 2)), np.eye(9, 2), ValueError, "`old` should vary"),
        (np.eye(9, 0), np.eye(9, 2), ValueError, "`old` should have shape"),
        (np.eye(2, 2), np.eye(2, 2), ValueError, "at least 3 pairs"),
    ],
)
def test_pairs_that_cannot_be_fitted_are_refused(old, new, error, message):
    with pytest.raises(error, match=message):
        Ridge().fit(old, new, **SIDES)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_too_few_pairs_are_refused_with_what_to_do(make_pairs, method):
    with pytest.raises(ValueError, match=r"Received: 2; embed more items with both"):
        method.fit(*make_pairs(pairs=2), **SIDES)


def test_numbers_that_it_was_told_may_be_numpys(tmp_path):
    told = {"k": np.int64(2), "rate": np.float32(0.5), "on": np.bool_(True), "no": None}
    OldToNew(
        map=AffineMap(np.eye(2), np.zeros(2)),
        method="by hand",
        pairs=np.int64(3),
        settings=told,
        **SIDES,
    ).save(tmp_path)

    loaded = OldToNew.load(tmp_path)

    assert loaded.pairs == 3
    assert loaded.settings == {"k": 2, "rate": 0.5, "on": True, "no": None}


@given(
    told=st.dictionaries(
        st.text(),
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text()
        | st.sampled_from(["1e5", "nan", "inf", "True", "3", ""]),
    )
)
@settings(max_examples=50)
def test_settings_come_back_as_they_were_told(tmp_path_factory, told):
    directory = tmp_path_factory.mktemp("adapter")
    OldToNew(
        map=AffineMap(np.eye(2), np.zeros(2)),
        method="by hand",
        pairs=3,
        settings=told,
        **SIDES,
    ).save(directory)

    loaded = dict(OldToNew.load(directory).settings)

    # Also by type, as 3 == 3.0 == True + 2.
    assert list(map(repr, loaded.items())) == list(map(repr, told.items()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"k": np.nan}}, "`settings` should have .* 'k': nan"),
        ({"settings": {"k": np.float32(np.inf)}}, "`settings` should have .* 'k': inf"),
        ({"settings": {"k": [1]}}, r"`settings` should have .* 'k': \[1\]"),
        ({"pairs": 2.5}, "`pairs` should be a whole number, at least 0"),
        ({"pairs": "3"}, "`pairs` should be a whole number, at least 0"),
        ({"pairs": -1}, "`pairs` should be a whole number, at least 0"),
    ],
)
def test_what_json_does_not_have_is_refused_before_anything_is_written(change, message):
    told = {"settings": {}, "pairs": 0, "method": "by hand", **SIDES, **change}

    with pytest.raises(ValueError, match=message):
        OldToNew(map=AffineMap(np.eye(2), np.zeros(2)), **told)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("scale", [1e-30, 1e-24, 1e24, 1e30])
def test_a_unit_whose_square_float32_lacks_is_as_good(make_pairs, method, side, scale):
    pairs = dict(
        zip(("old", "new"), make_pairs(9000, dtype=np.float32, noise=1.0), strict=True)
    )
    plain = method.fit(**pairs, **SIDES).map.matrix
    pairs[side] = pairs[side] * np.float32(scale)

    matrix = method.fit(**pairs, **SIDES).map.matrix

    if not isinstance(method, Procrustes):
        matrix = matrix * scale if side == "old" else matrix / scale
    np.testing.assert_allclose(matrix, plain, atol=1e-5)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("side", ["old", "new"])
def test_rows_too_small_to_be_squared_are_refused(make_pairs, method, side):
    pairs = dict(zip(("old", "new"), make_pairs(), strict=True))
    pairs[side] = pairs[side] * 1e-160

    with pytest.raises(ValueError, match=f"`{side}` should vary. .* within 1e-146"):
        method.fit(**pairs, **SIDES)


@pytest.mark.parametrize("method", [Ridge(), LowRank(2), ScaledRotation()])
@pytest.mark.parametrize("side", ["old", "new"])
def test_rows_too_large_to_be_squared_are_refused(make_pairs, method, side):
    pairs = dict(zip(("old", "new"), make_pairs(), strict=True))
    pairs[side] = pairs[side] * 1e200

    with pytest.raises(ValueError, match="should be small enough for float64"):
        method.fit(**pairs, **SIDES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "b", "`old_fingerprint` should name"),
        ("a", "", "`new_fingerprint` should name"),
        ("a", "a", "should be of two versions"),
    ],
)
def test_both_sides_have_names_of_their_own(make_pairs, old, new, message):
    with pytest.raises(ValueError, match=message):
        Ridge().fit(*make_pairs(), old_fingerprint=old, new_fingerprint=new)


def test_rows_of_another_size_are_refused(make_pairs):
    adapter = Ridge().fit(*make_pairs(), **SIDES)

    with pytest.raises(ValueError, match=r"`old` should have shape \(n, 5\)"):
        adapter.transform(np.ones((2, 4)))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("dtype", [">f8", np.longdouble, ">f4", ">f2"])
def test_another_byte_order_or_a_wider_type_loses_no_digits(make_pairs, method, dtype):
    """Far from zero, where float32 would have lost them all."""
    wide = np.dtype(dtype).itemsize > 4
    native = np.dtype(dtype).newbyteorder("=") if not wide else np.dtype(np.float64)
    old, new = make_pairs(pairs=9000)
    old = (old + (1e8 if wide else 0)).astype(native)
    expected = method.fit(old, new, **SIDES).transform(old)

    other = old.astype(dtype)
    mapped = method.fit(other, new, **SIDES).transform(other)

    assert mapped.dtype == expected.dtype == (np.float64 if wide else np.float32)
    np.testing.assert_array_equal(mapped, expected)
