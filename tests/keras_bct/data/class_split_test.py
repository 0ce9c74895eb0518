import pytest

from keras_bct.data import first_share, rank_classes, split_classes

NAMES = [f"n{number:06d}" for number in range(2000)]


def test_shares_are_nested_as_a_chain_of_versions_needs_it():
    quarter, half, whole = (first_share(NAMES, share) for share in (0.25, 0.5, 1))
    assert (len(quarter), len(half), len(whole)) == (500, 1000, 2000)
    assert set(quarter) < set(half) < set(whole)


def test_new_classes_leave_the_order_of_the_old_ones():
    ranked = rank_classes(NAMES[:1000])
    assert [name for name in rank_classes(NAMES) if name in set(ranked)] == list(ranked)


def test_order_of_the_names_and_repetitions_do_not_matter():
    assert rank_classes(NAMES[::-1] + NAMES) == rank_classes(NAMES)


def test_seed_gives_another_order():
    assert rank_classes(NAMES, seed=1) != rank_classes(NAMES)


def test_no_class_changes_its_part_when_others_come():
    shares = {"train": 0.8, "validation": 0.1, "test": 0.1}
    before = split_classes(NAMES[:1000], shares)
    after = split_classes(NAMES, shares)
    for part, names in before.items():
        assert set(names) <= set(after[part])


def test_every_class_is_in_one_part_and_parts_are_about_as_large_as_asked():
    parts = split_classes(NAMES, {"train": 0.8, "test": 0.2})
    assert sorted(parts["train"] + parts["test"]) == NAMES
    # Binomial: five standard deviations of 18.
    assert abs(len(parts["test"]) - 400) < 90


@pytest.mark.parametrize("shares", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}])
def test_shares_that_are_no_whole_are_refused(shares):
    with pytest.raises(ValueError, match="add up to 1"):
        split_classes(NAMES, shares)


@pytest.mark.parametrize("share", [0, -0.1, 1.1, 1e-6])
def test_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="`share`"):
        first_share(NAMES, share)


def test_missing_label_is_no_class_and_bytes_are_text():
    names = [b"a", "", "b", None, "a"]
    assert sorted(rank_classes(names)) == ["a", "b"]
    assert first_share(names, 1.0) == rank_classes("ab")
    assert split_classes(names, {"all": 1.0}) == {"all": ("a", "b")}
