import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_bct.backfill import highest_first, random_order


def test_the_highest_priority_comes_first():
    assert highest_first(np.array([1, 3, 2])).tolist() == [1, 2, 0]


def test_equal_priorities_keep_the_order_of_the_gallery():
    assert highest_first(np.array([0.0, 1.0] * 50)).tolist() == [
        *range(1, 100, 2),
        *range(0, 100, 2),
    ]


@given(
    values=st.lists(st.integers(-3, 3), min_size=1, max_size=50),
    size=st.integers(1, 60),
)
def test_it_is_pythons_stable_sort_however_blocks_are_cut(values, size):
    expected = sorted(range(len(values)), key=lambda row: -values[row])
    array = np.array(values, dtype=float)
    blocks = (array[i : i + size] for i in range(0, len(array), size))

    assert highest_first(array).tolist() == expected
    assert highest_first(blocks).tolist() == expected


def test_infinite_priorities_are_first_and_last():
    assert highest_first(np.array([-np.inf, 0.0, np.inf])).tolist() == [2, 1, 0]


def test_a_random_order_is_a_permutation_that_its_seed_repeats():
    order = random_order(1000, seed=3)

    assert sorted(order.tolist()) == list(range(1000))
    np.testing.assert_array_equal(order, random_order(1000, seed=3))
    assert (order != random_order(1000, seed=4)).any()


@pytest.mark.parametrize(
    ("priorities", "message"),
    [
        (np.array([1.0, np.nan]), "NaN for item 1"),
        (np.ones((2, 2)), r"should have shape \(n,\)"),
        (np.array(["a"]), "a number for each item"),
        (np.empty(0), "at least one item"),
        ([], "at least one item"),
        (None, "None, which closed-form maps give.*random_order"),
    ],
)
def test_what_gives_no_order_is_refused(priorities, message):
    with pytest.raises(ValueError, match=message):
        highest_first(priorities)


@pytest.mark.parametrize("items", [np.int64(5), np.uint8(5)])
def test_a_number_of_items_may_be_numpys(items):
    np.testing.assert_array_equal(random_order(items, seed=0), random_order(5, seed=0))


@pytest.mark.parametrize(
    "items", [0, -3, 2.5, 3.0, True, np.array([2, 3]), "3", None, np.nan]
)
def test_what_is_no_number_of_items_has_no_random_order(items):
    with pytest.raises(
        ValueError, match="`items` should be a whole number, at le"
    ) as e:
        random_order(items, seed=0)

    assert f"Received: {items!r}" in str(e.value)


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_what_is_no_seed_has_no_random_order(seed):
    with pytest.raises(ValueError, match=f"`seed` should be a whole.*{seed}"):
        random_order(3, seed=seed)
