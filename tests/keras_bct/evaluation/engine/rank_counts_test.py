import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from keras_bct.evaluation import RankCounts


@st.composite
def rankings(draw, longest=30):
    """Scores with many ties, and at least one relevant item."""
    size = draw(st.integers(1, longest))
    scores = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    relevant = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    relevant[draw(st.integers(0, size - 1))] = True
    return np.array(scores, float), np.array(relevant)


def counts_of(scores, relevant):
    return RankCounts.of_scores(scores[None], relevant[None])


def over_every_order(scores, relevant, value):
    """The mean of a value over every order that the scores allow."""
    values = []
    for order in itertools.permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            values.append(value(relevant[list(order)]))
    return np.mean(values)


def test_average_precision_by_hand():
    # Relevant at places 1 and 3: (1/1 + 2/3) / 2.
    counts = counts_of(np.array([3.0, 2, 1]), np.array([True, False, True]))

    assert counts.average_precision() == pytest.approx([5 / 6])
    assert counts.average_precision_at(2) == pytest.approx([1 / 2])
    assert counts.average_precision_at(None) == pytest.approx([1 / 2])
    assert counts.precision_at(2) == pytest.approx([1 / 2])
    assert counts.precision_at(None) == pytest.approx([1 / 2])
    assert counts.match_at(1) == pytest.approx([1])


def test_a_tie_of_relevant_and_other_shares_the_first_place():
    counts = counts_of(np.array([1.0, 1]), np.array([True, False]))

    assert counts.match_at(1) == pytest.approx([1 / 2])
    assert counts.average_precision() == pytest.approx([1 / 2])


@given(rankings())
def test_average_precision_is_that_of_scikit_learn(ranking):
    scores, relevant = ranking

    assert counts_of(scores, relevant).average_precision() == pytest.approx(
        [average_precision_score(relevant, scores)], abs=1e-12
    )


@given(rankings(), st.integers(1, 35) | st.none())
def test_discounted_gain_is_that_of_scikit_learn(ranking, first):
    scores, relevant = ranking
    if len(scores) == 1:
        return

    assert counts_of(scores, relevant).discounted_gain(first) == pytest.approx(
        [ndcg_score(relevant[None], scores[None], k=first)], abs=1e-12
    )


@given(rankings(longest=6), st.integers(1, 7))
def test_within_a_tie_every_order_is_equally_probable(ranking, first):
    scores, relevant = ranking
    counts = counts_of(scores, relevant)
    total = int(relevant.sum())

    expected = over_every_order(scores, relevant, lambda r: r[:first].any())
    assert counts.match_at(first) == pytest.approx([expected])
    expected = over_every_order(scores, relevant, lambda r: r[:first].sum() / first)
    assert counts.precision_at(first) == pytest.approx([expected])
    expected = over_every_order(scores, relevant, lambda r: r[:total].mean())
    assert counts.precision_at(None) == pytest.approx([expected])


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(1, 25))
def test_average_precision_at_k_without_ties(relevant, first):
    relevant = np.array([*relevant, True])
    places = np.arange(1, len(relevant) + 1)
    precision = np.cumsum(relevant) / places
    counts = counts_of(-places.astype(float), relevant)
    total = relevant.sum()

    expected = (precision * relevant)[:first].sum() / min(first, total)
    assert counts.average_precision_at(first) == pytest.approx([expected])
    expected = (precision * relevant)[:total].sum() / total
    assert counts.average_precision_at(None) == pytest.approx([expected])


@given(rankings(), st.randoms(use_true_random=False))
def test_the_order_of_the_gallery_does_not_matter(ranking, random):
    scores, relevant = ranking
    order = list(range(len(scores)))
    random.shuffle(order)
    one, other = counts_of(scores, relevant), counts_of(scores[order], relevant[order])

    assert one.average_precision() == other.average_precision()
    assert one.discounted_gain(3) == other.discounted_gain(3)
    assert one.match_at(2) == other.match_at(2)


def test_at_the_whole_gallery_average_precision_is_whole():
    scores, relevant = np.array([2.0, 1, 1, 0]), np.array([False, True, False, True])
    counts = counts_of(scores, relevant)

    assert counts.average_precision_at(4) == counts.average_precision()


def test_a_query_without_relevant_items_has_no_value():
    scores = np.array([[1.0, 2], [1, 2]])
    counts = RankCounts.of_scores(scores, np.array([[False, False], [True, False]]))

    assert len(counts) == 2
    for value in (
        counts.average_precision(),
        counts.average_precision_at(1),
        counts.match_at(1),
        counts.precision_at(1),
        counts.precision_at(None),
        counts.discounted_gain(None),
    ):
        assert np.isnan(value).tolist() == [True, False]


def test_excluded_pairs_do_not_exist():
    scores = np.array([[3.0, 2, 1]])
    relevant = np.array([[True, False, True]])
    excluded = np.array([[True, False, False]])
    counts = RankCounts.of_scores(scores, relevant, excluded)

    assert counts.total_relevant.tolist() == [1]
    assert counts.average_precision() == pytest.approx([1 / 2])
