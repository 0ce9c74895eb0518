import numpy as np
import pytest

from keras_bct.adapters import AffineMap, OldToNew, ResidualMap, load_adapter


@pytest.fixture
def residual():
    generator = np.random.default_rng(0)
    return ResidualMap(
        AffineMap(generator.normal(size=(3, 2)), generator.normal(size=2)),
        generator.normal(size=(3, 7)),
        generator.normal(size=7),
        generator.normal(size=(7, 2)),
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_adds_the_network_to_the_affine_map(residual, dtype):
    rows = np.random.default_rng(1).normal(size=(5000, 3)).astype(dtype)

    mapped = residual(rows)

    assert mapped.dtype == np.float32
    for i in (0, 4095, 4096, 4999):
        row = rows[i].astype(float)
        hidden = [
            max(
                0.0, sum(row * residual.hidden_matrix[:, j]) + residual.hidden_offset[j]
            )
            for j in range(7)
        ]
        expected = row @ residual.affine.matrix + residual.affine.offset
        expected = expected + np.array(hidden) @ residual.output_matrix
        np.testing.assert_allclose(mapped[i], expected, rtol=1e-4, atol=1e-5)


def test_survives_the_round_trip_without_pickle(residual, sides, tmp_path):
    OldToNew(map=residual, method="by hand", pairs=0, **sides).save(tmp_path)

    loaded = load_adapter(tmp_path)

    rows = np.random.default_rng(2).normal(size=(9, 3))
    np.testing.assert_array_equal(loaded.transform(rows), residual(rows))
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npy"}
    assert (loaded.input_size, loaded.output_size) == (3, 2)
    assert loaded.log_variance(rows) is None


def test_has_no_way_back(residual):
    with pytest.raises(ValueError, match="`new` cannot be mapped back"):
        residual.inverse(np.ones((1, 2)), name="new")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_matrix", np.ones((2, 7))),
        ("output_matrix", np.ones((7, 3))),
        ("hidden_offset", np.full(7, np.nan)),
    ],
)
def test_weights_that_do_not_fit_are_refused(residual, name, value):
    with pytest.raises(ValueError, match=f"`{name}` should be finite"):
        ResidualMap(**{**vars(residual), name: value})


def test_rows_that_are_not_finite_are_refused(residual):
    with pytest.raises(ValueError, match="infinity in row 1"):
        residual(np.array([[0.0, 0, 0], [np.nan, 0, 0]]))


def test_rows_too_large_for_float32_are_refused():
    tenfold = ResidualMap(
        AffineMap(10 * np.eye(1), np.zeros(1)), np.eye(1), np.zeros(1), np.eye(1)
    )

    with pytest.raises(
        ValueError, match=r"`old` .* within float32.* 1.0e\+39 in row 1"
    ):
        tenfold(np.array([[0.0], [1e39]]), name="old")
    with pytest.raises(ValueError, match=r"`old` .* row 1, which is mapped to NaN or"):
        tenfold(np.array([[0.0], [1e38]]), name="old")
