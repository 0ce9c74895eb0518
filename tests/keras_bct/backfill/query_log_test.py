import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from keras_bct.backfill import highest_first, query_frequency
from keras_bct.evaluation import Execution

QUIET = Execution(progress=False)


@pytest.fixture
def sides():
    """Gives a gallery and a log of queries around one of its corners."""
    generator = np.random.default_rng(0)
    return generator.normal(size=(400, 4)), generator.normal(size=(150, 4)) + 1


@pytest.mark.parametrize(
    ("distance", "metric"), [("l2", "euclidean"), ("cosine", "cosine")]
)
def test_counts_scikit_learns_answers(sides, distance, metric):
    gallery, log = sides
    search = NearestNeighbors(n_neighbors=5, metric=metric, algorithm="brute")
    answers = search.fit(gallery).kneighbors(log)[1]
    expected = [int((answers == item).sum()) for item in range(400)]

    found = query_frequency(
        gallery, log, neighbours=5, distance=distance, execution=QUIET
    )

    assert found.tolist() == expected
    assert found.sum() == 150 * 5


@pytest.mark.parametrize("size", [1, 7, 150])
def test_how_the_log_is_cut_does_not_matter(sides, size):
    gallery, log = sides
    blocks = (log[i : i + size] for i in range(0, 150, size))

    found = query_frequency(gallery, blocks, execution=QUIET)

    np.testing.assert_array_equal(found, query_frequency(gallery, log, execution=QUIET))


@pytest.mark.parametrize("block_rows", [1, 64])
def test_equal_items_count_in_the_order_of_the_gallery(block_rows):
    gallery = np.tile([[1.0, 2.0], [-2.0, 1.0]], (300, 1))
    log = np.array([[2.0, 4.0], [1.0, 2.0]])

    found = query_frequency(
        gallery,
        log,
        neighbours=3,
        execution=Execution(block_rows=block_rows, progress=False),
    )

    assert np.flatnonzero(found).tolist() == [0, 2, 4]
    assert highest_first(found).tolist()[:4] == [0, 2, 4, 1]


def test_a_query_asked_twice_counts_twice(sides):
    gallery, log = sides

    np.testing.assert_array_equal(
        query_frequency(gallery, np.vstack([log, log]), execution=QUIET),
        2 * query_frequency(gallery, log, execution=QUIET),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries": []}, "at least one query"),
        ({"queries": np.empty((0, 4))}, "at least one query"),
        ({"queries": np.ones((1, 3))}, r"`queries` should have shape \(n, 4\)"),
        ({"queries": np.full((1, 4), np.nan)}, "`queries` should be finite"),
        ({"neighbours": 0}, "`neighbours` should be a whole number, at least 1"),
        ({"neighbours": 2.5}, "`neighbours` should be a whole number"),
        ({"neighbours": 401}, "Received: 401 of 400"),
        ({"distance": "dot"}, "one of cosine, l2"),
    ],
)
def test_what_asks_for_nothing_is_refused(sides, change, message):
    arguments = {"embeddings": sides[0], "queries": sides[1]} | change

    with pytest.raises(ValueError, match=message):
        query_frequency(**arguments, execution=QUIET)
