import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from keras_bct.backfill import kendall_tau


def test_counts_pairs_in_the_same_order():
    # Of the six pairs one is turned: (5 - 1) / 6.
    found = kendall_tau(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 4.0, 3.0]))

    assert found == pytest.approx(4 / 6)


def test_ties_shrink_the_divisor():
    # Two pairs in order, one tied on the left: 2 / sqrt((3 - 1) * 3).
    found = kendall_tau(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))

    assert found == pytest.approx(2 / 6**0.5)


def test_only_the_order_matters():
    values = np.random.default_rng(0).normal(size=100)

    assert kendall_tau(values, np.exp(values)) == pytest.approx(1)
    assert kendall_tau(values, -values) == pytest.approx(-1)


RISING = np.array([-np.inf, -1e300, -1.0, 0.0, 1e-300, 2.0, np.inf])
PLACES = st.integers(0, len(RISING) - 1)


@given(st.lists(st.tuples(PLACES, PLACES), min_size=2, max_size=30))
def test_infinities_are_the_first_and_the_last_of_numbers(pairs):
    priorities, oracle = np.array(pairs).T
    assume(len(set(priorities)) > 1 and len(set(oracle)) > 1)

    found = kendall_tau(RISING[priorities], RISING[oracle])

    assert found == pytest.approx(kendalltau(priorities, oracle).statistic)


def test_both_infinities_may_be_on_one_side():
    # Of the three pairs of items one is turned.
    found = kendall_tau(np.array([np.inf, -np.inf, 0.0]), np.array([2.0, 1.0, 3.0]))

    assert found == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("priorities", "oracle", "message"),
    [
        (np.ones(3), np.arange(3.0), "`priorities` should tell items apart"),
        (np.arange(3.0), np.ones(3), "`oracle` should tell items apart"),
        (np.arange(3.0), np.arange(2.0), r"shapes \(3,\) and \(2,\)"),
        (np.arange(1.0), np.arange(1.0), "two or more items"),
        (np.array([1.0, np.nan]), np.arange(2.0), "`priorities` .* Received: NaN"),
        (np.arange(3.0), np.array([np.inf, np.nan, -np.inf]), "`oracle` .* NaN"),
        (np.arange(2.0), np.array(["a", "b"]), "`oracle` .* dtype <U1"),
        (np.array([1.0, None]), np.arange(2.0), "`priorities` .* dtype object"),
    ],
)
def test_what_has_no_agreement_is_refused(priorities, oracle, message):
    with pytest.raises(ValueError, match=message):
        kendall_tau(priorities, oracle)


@pytest.mark.parametrize("kinds", [5, 10_000])
def test_is_the_share_of_pairs_less_those_turned_over_the_untied(kinds):
    generator = np.random.default_rng(0)
    left, right = generator.integers(0, kinds, size=(2, 80))
    right = right + left
    signs = [
        np.sign(side[:, None] - side[None])[np.triu_indices(80, 1)]
        for side in (left, right)
    ]
    untied = [np.count_nonzero(side) for side in signs]

    expected = (signs[0] * signs[1]).sum() / np.sqrt(untied[0] * untied[1])

    assert kendall_tau(left, right) == pytest.approx(expected)
