import numpy as np
import pytest

from keras_bct.adapters import AffineMap


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_maps_each_row_in_the_precision_it_comes_in(dtype):
    generator = np.random.default_rng(0)
    matrix, offset = generator.normal(size=(3, 2)), np.array([1.0, -2.0])
    rows = generator.normal(size=(5000, 3)).astype(dtype)

    mapped = AffineMap(matrix, offset)(rows)

    assert mapped.dtype == (np.float64 if dtype == np.float64 else np.float32)
    expected = [
        [sum(row[k] * matrix[k, j] for k in range(3)) + offset[j] for j in range(2)]
        for row in rows[4990:].astype(float)
    ]
    np.testing.assert_allclose(mapped[4990:], expected, rtol=1e-4, atol=1e-5)


def test_maps_no_rows_to_no_rows():
    assert AffineMap(np.eye(2), np.zeros(2))(np.empty((0, 2))).shape == (0, 2)


def test_reads_memory_mapped_rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(2, dtype=np.float32))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")

    assert AffineMap(2 * np.eye(2), np.ones(2))(rows).tolist() == [[3, 1], [1, 3]]


@pytest.mark.parametrize(
    ("dtype", "largest"), [(np.float32, "1e35"), (np.float64, "1e305")]
)
def test_rows_too_large_to_be_mapped_are_refused(dtype, largest):
    rows = np.zeros((5000, 2), dtype)
    rows[4500] = float(largest)
    affine = AffineMap(np.eye(2) * 1e10, np.zeros(2))

    with pytest.raises(
        ValueError, match=rf"`old` .* {dtype.__name__} .* row 4500, which is mapped to"
    ):
        affine(rows, name="old")
    with pytest.raises(ValueError, match=r"`new` .* row 4500, which is mapped to"):
        AffineMap(np.eye(2) * 1e-10, np.zeros(2)).inverse(rows, name="new")


def test_what_is_under_a_mask_must_be_finite_too():
    rows = np.ma.masked_invalid([[np.nan, 1.0]])

    with pytest.raises(ValueError, match="`rows` should be finite"):
        AffineMap(np.eye(2), np.zeros(2))(rows)


def test_near_singular_maps_have_no_inverse():
    flat = AffineMap(np.diag([1.0, 1e-7]), np.zeros(2))

    assert flat.condition == pytest.approx(1e7)
    with pytest.raises(ValueError, match="no inverse"):
        flat.inverse(np.ones((1, 2)))


@pytest.mark.parametrize(
    ("matrix", "offset", "message"),
    [
        (np.ones(2), np.ones(2), "`matrix` should be finite and have 2 dimensions"),
        (np.eye(2) * np.nan, np.ones(2), "`matrix` should be finite"),
        (np.eye(2), np.ones(3), "`offset` should have one component for each column"),
    ],
)
def test_what_does_not_fit_is_refused(matrix, offset, message):
    with pytest.raises(ValueError, match=message):
        AffineMap(matrix, offset)


def test_a_change_to_the_callers_array_does_not_reach_the_map():
    matrix = np.eye(2)
    affine = AffineMap(matrix, np.zeros(2))
    matrix[:] = 5

    assert affine.matrix.tolist() == [[1, 0], [0, 1]]
