"""Exact search, against NumPy's float64 on all pairs and against Python's integers."""

import numpy as np
import pytest

from registry.indices import exact_search as module
from registry.indices.exact_search import exact_search, pair_scores


def scores_of(queries, vectors, distance):
    queries, vectors = queries.astype(np.float64), vectors.astype(np.float64)
    if distance == "l2":
        return -((queries[:, None] - vectors[None]) ** 2).sum(-1)
    return queries @ vectors.T


@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product"])
@pytest.mark.parametrize("k", [1, 7, 50])
@pytest.mark.parametrize("block", [3, 1000])
def test_the_k_nearest_are_found_nearest_first_in_blocks_of_any_size(
    monkeypatch, distance, k, block
):
    monkeypatch.setattr(module, "_BLOCK", block)
    monkeypatch.setattr(module, "_SCORES", 4 * (k + block))
    rng = np.random.default_rng(0)
    queries, vectors = (rng.normal(size=(n, 6)).astype(np.float32) for n in (9, 50))
    all_scores = scores_of(queries, vectors, distance)
    rows, scores = exact_search(queries, vectors, k, distance)
    np.testing.assert_array_equal(rows, np.argsort(-all_scores, axis=1)[:, :k])
    np.testing.assert_allclose(scores, -np.sort(-all_scores, axis=1)[:, :k])


def test_equally_near_rows_come_by_their_number():
    vectors = np.array([[1.0], [0.0], [2.0], [0.0]], np.float32)
    rows, _ = exact_search(np.ones((1, 1), np.float32), vectors, 4, "l2")
    assert rows.tolist() == [[0, 1, 2, 3]]


def test_near_vectors_far_from_zero_keep_their_order():
    # Float32 has a step of 0.125 there; squares of 2e12 would swallow the differences.
    vectors = np.array([[2e6 + 0.5], [2e6 + 0.125], [2e6 + 0.25]], np.float32)
    rows, scores = exact_search(np.array([[2e6]], np.float32), vectors, 3, "l2")
    assert rows.tolist() == [[1, 2, 0]]
    assert scores.tolist() == [[-(0.125**2), -(0.25**2), -(0.5**2)]]


@pytest.mark.parametrize("length", [1e20, 1e38, 1e-38])
@pytest.mark.parametrize("distance", ["l2", "inner_product"])
def test_the_order_is_that_of_whole_numbers_whatever_the_lengths(length, distance):
    whole = np.array([[3, 1], [1, 1], [0, 2], [2, 3]])
    vectors = (whole * length).astype(np.float32)
    rows, _ = exact_search(vectors[:1], vectors, 4, distance)
    expected = {"l2": [0, 1, 3, 2], "inner_product": [0, 3, 1, 2]}
    assert rows.tolist() == [expected[distance]]


def test_pairs_are_scored_one_by_one():
    queries = np.array([[1.0, 2.0]], np.float32)
    vectors = np.array([[3.0, 4.0], [1.0, 0.0]], np.float32)
    rows = np.array([[1, 0]])
    assert pair_scores(queries, vectors, rows, "cosine").tolist() == [[1.0, 11.0]]
    assert pair_scores(queries, vectors, rows, "l2").tolist() == [[-4.0, -8.0]]
