import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from keras_bct.backfill import neighbourhood_distance


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(300, 4)) + 5


@pytest.mark.parametrize(
    ("distance", "metric"), [("l2", "euclidean"), ("cosine", "cosine")]
)
def test_is_the_mean_of_scikit_learns_neighbours(rows, distance, metric):
    neighbours = NearestNeighbors(n_neighbors=7, metric=metric, algorithm="brute")
    expected = neighbours.fit(rows).kneighbors()[0].mean(axis=1)

    found = neighbourhood_distance(rows, neighbours=7, distance=distance)

    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_sample_is_repeated_by_its_seed(rows):
    def of(seed):
        return neighbourhood_distance(rows, neighbours=3, references=40, seed=seed)

    np.testing.assert_array_equal(of(1), of(1))
    assert (of(1) != of(2)).any()


def test_a_sampled_item_is_not_its_own_neighbour(rows):
    found = neighbourhood_distance(rows, neighbours=1, references=299)

    assert (found > 0).all()


def test_of_equal_items_it_does_not_matter_which_was_sampled(rows):
    # Each once more, so that some pairs have one in the sample and some none or both.
    twice = np.concatenate([rows, rows])

    first, second = np.split(
        neighbourhood_distance(twice, neighbours=3, references=200), 2
    )

    np.testing.assert_array_equal(first, second)


def test_far_from_the_origin_a_twin_is_still_at_no_distance():
    rows = np.random.default_rng(0).normal(size=(50, 64)) + 1000
    far = np.repeat(rows, 6, axis=0)

    assert not neighbourhood_distance(far, neighbours=5).any()


def test_a_twin_is_a_neighbour_at_no_distance():
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [9.0, 9.0]])

    assert neighbourhood_distance(rows, neighbours=1).tolist()[:2] == [0.0, 0.0]


def test_the_item_alone_is_the_sparsest():
    rows = np.concatenate([np.eye(20), [[50.0] * 20]])

    assert neighbourhood_distance(rows, neighbours=3).argmax() == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"neighbours": 0}, "`neighbours` should be a whole number, at least 1"),
        ({"neighbours": 1.5}, "`neighbours` should be a whole number"),
        ({"neighbours": 1, "references": 2.5}, "`references` should be a whole number"),
        ({"neighbours": 1, "seed": 0.5}, "`seed` should be a whole number"),
        ({"neighbours": 3}, "Received: 3 with 3 items"),
        ({"neighbours": 2, "references": 2}, "and 2 references"),
        ({"neighbours": 1, "distance": "dot"}, "one of l2, cosine"),
        ({"neighbours": 1, "embeddings": np.eye(3) * np.nan}, "should be finite"),
        (
            {"neighbours": 1, "embeddings": np.diag([1.0, 1, 0]), "distance": "cosine"},
            "`embeddings` .* row 2 is zero",
        ),
    ],
)
def test_what_has_no_neighbourhood_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        neighbourhood_distance(**({"embeddings": np.eye(3)} | change))


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_far_from_the_origin_neighbours_are_the_same(far):
    rows = np.random.default_rng(0).normal(size=(300, 8))

    found = neighbourhood_distance(rows + far, neighbours=5)

    # Adding 1e6 to float64 costs ten digits of sixteen.
    np.testing.assert_allclose(found, neighbourhood_distance(rows, neighbours=5), 1e-7)
