import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from keras_bct.evaluation import Execution, nearest

QUIET = Execution(progress=False)


def rows(count, seed, size=6):
    return np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)


@pytest.mark.parametrize(
    ("distance", "metric"), [("cosine", "cosine"), ("l2", "euclidean")]
)
def test_finds_what_scikit_learn_finds(distance, metric):
    queries, gallery = rows(300, 0), rows(9000, 1) + 1
    exact = NearestNeighbors(n_neighbors=7, metric=metric, algorithm="brute")
    distances, items = exact.fit(gallery.astype(float)).kneighbors(
        queries.astype(float)
    )

    found = nearest(queries, gallery, 7, distance=distance, execution=QUIET)

    np.testing.assert_array_equal(found.items, items)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6, atol=1e-7)


def test_the_inner_product_is_highest_first():
    found = nearest(
        np.array([[1.0, 0.0]]),
        np.array([[1.0, 9.0], [3.0, 0.0], [2.0, 0.0]]),
        2,
        distance="inner_product",
        execution=QUIET,
    )

    assert found.items.tolist() == [[1, 2]]
    assert found.distances.tolist() == [[-3.0, -2.0]]


@pytest.mark.parametrize("block_rows", [1, 3, 256])
def test_equal_items_come_as_they_stand_however_blocks_are_cut(block_rows):
    # Every item occurs 50 times, the copies far apart and in tiles of their own.
    kinds = rows(100, 2)
    gallery = np.tile(kinds, (50, 1))
    queries = rows(5, 3)

    found = nearest(
        queries,
        gallery,
        60,
        execution=Execution(block_rows=block_rows, progress=False),
    )

    best_kinds = nearest(queries, kinds, 2, execution=QUIET).items
    for items, (first, second) in zip(found.items, best_kinds, strict=True):
        assert items.tolist() == [
            *range(first, 5000, 100),
            *range(second, 1000, 100),
        ]


def test_a_gallery_that_gets_nearer_and_nearer_is_searched_to_its_end():
    gallery = np.linspace(9, 1, 20_000, dtype=np.float32)[:, None]

    found = nearest(
        np.zeros((300, 1), np.float32), gallery, 3, distance="l2", execution=QUIET
    )

    assert (found.items == [19_999, 19_998, 19_997]).all()


def test_the_whole_gallery_may_be_asked_for():
    found = nearest(rows(4, 0), rows(5, 1), 5, execution=QUIET)

    assert np.sort(found.items, axis=1).tolist() == [list(range(5))] * 4


@pytest.mark.parametrize(
    ("distance", "length"),
    [
        ("cosine", 1e25),
        ("cosine", 1e-25),
        ("l2", 1e12),
        ("l2", 1e-25),
        ("inner_product", 1e12),
        ("inner_product", 1e-25),
    ],
)
def test_very_long_and_very_short_vectors_keep_their_order(distance, length):
    whole = np.random.default_rng(0).integers(-50, 50, (60, 6)).astype(np.float64)
    scores = whole[:9] @ whole.T
    if distance == "cosine":
        norms = np.linalg.norm(whole, axis=1)
        scores /= norms[:9, None] * norms
    elif distance == "l2":
        scores = -((whole[:9, None] - whole) ** 2).sum(-1)

    vectors = (whole * length).astype(np.float32)
    found = nearest(vectors[:9], vectors, 60, distance=distance, execution=QUIET)

    in_order = np.take_along_axis(scores, found.items, axis=1)
    # Of equal scores either may come first: rounding to float32 parts them.
    slack = 1e-5 * np.abs(scores).max()
    assert (np.diff(in_order, axis=1) <= slack).all()
    assert np.sort(found.items, axis=1).tolist() == [list(range(60))] * 9


@pytest.mark.parametrize("distance", ["l2", "inner_product"])
def test_vectors_whose_squares_leave_float32_are_refused_before_the_work(distance):
    long = rows(5, 1) * np.float32(1e20)

    with pytest.raises(ValueError, match="`gallery` should hold vectors shorter than"):
        nearest(rows(2, 0), long, 5, distance=distance, execution=QUIET)


@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product"])
def test_no_query_has_no_answers(distance):
    found = nearest(rows(0, 0), rows(5, 1), 2, distance=distance, execution=QUIET)

    assert found.items.shape == found.distances.shape == (0, 2)


def test_reads_memory_mapped_rows(tmp_path):
    np.save(tmp_path / "gallery.npy", rows(500, 1))
    gallery = np.load(tmp_path / "gallery.npy", mmap_mode="r")

    found = nearest(rows(3, 0), gallery, 4, execution=QUIET)

    expected = nearest(rows(3, 0), rows(500, 1), 4, execution=QUIET)
    np.testing.assert_array_equal(found.items, expected.items)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"neighbours": 0}, "`neighbours` should be at least 1"),
        ({"neighbours": 6}, "Received: 6 of 5"),
        ({"distance": "dot"}, "one of cosine, l2, inner_product"),
        ({"gallery": np.zeros((5, 6))}, "no zero vector"),
        ({"gallery": np.full((5, 6), np.nan)}, "`gallery` should be finite"),
        ({"queries": np.ones(6)}, r"`queries` should have shape \(items, components\)"),
        ({"queries": np.ones((2, 5))}, "one size"),
        ({"queries": np.ones((0, 5))}, "one size"),
    ],
)
def test_what_cannot_be_searched_is_refused(change, message):
    arguments = {"queries": rows(2, 0), "gallery": rows(5, 1), "neighbours": 1}

    with pytest.raises(ValueError, match=message):
        nearest(**(arguments | change), execution=QUIET)
