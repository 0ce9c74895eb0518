import numpy as np
import pytest

from keras_bct.evaluation import Execution, PairShare, strict_criterion


@pytest.fixture
def versions(make_set):
    def make(rows="scattered", items=60, seed=0):
        generator = np.random.default_rng(seed)
        label = generator.integers(0, 5, items)
        centres = generator.normal(size=(5, 6))
        sides = [
            centres[label] + noise * generator.normal(size=(items, 6))
            for noise in (0.8, 0.4)
        ]
        if rows == "tied":
            sides = [np.ceil(side) + 0.25 for side in sides]
        if rows == "equal":
            sides = [sides[0], sides[0]]
        return [make_set("i", label.astype(str), side) for side in sides]

    return make


def by_formula(reference_scores, distance, old, new):
    """The two shares, over all pairs i != j."""
    new_old = reference_scores(distance, new, old)
    old_old = reference_scores(distance, old, old)
    same = old.labels[:, None] == old.labels
    other = ~np.eye(len(old), dtype=bool)
    return (
        np.mean((new_old <= old_old)[~same]),
        np.mean((new_old >= old_old)[same & other]),
    )


@pytest.mark.parametrize("distance", ["l2", "cosine", "inner_product"])
@pytest.mark.parametrize("rows", ["scattered", "tied", "equal"])
def test_all_pairs_are_counted_exactly(versions, reference_scores, distance, rows):
    old, new = versions(rows)
    different, same = by_formula(reference_scores, distance, old, new)

    result = strict_criterion(
        old, new, distance=distance, execution=Execution(block_rows=13)
    )

    assert result.different.pairs + result.same.pairs == 60 * 59
    if distance == "cosine" and rows == "tied":
        return  # Ties of the formula may be none in the last bit of float64.
    assert result.different.value == different
    assert result.same.value == same
    assert result.same.interval == (same, same)


def test_a_sample_holds_the_truth_in_its_interval(versions):
    old, new = versions(items=300)
    exact = strict_criterion(old, new)
    inside = 0
    for seed in range(40):
        sample = strict_criterion(old, new, sample=500, seed=seed, confidence=0.9)
        for kind in ("different", "same"):
            low, high = getattr(sample, kind).interval
            inside += low <= getattr(exact, kind).value <= high
            assert getattr(sample, kind).pairs == 500
            assert getattr(sample, kind).of == getattr(exact, kind).of

    # 80 intervals of 90 %: 72 expected, with a standard deviation of 2.7.
    assert 64 <= inside <= 80


def test_the_seed_names_the_sample(versions):
    old, new = versions()
    assert strict_criterion(old, new, sample=50, seed=1) == strict_criterion(
        old, new, sample=50, seed=1
    )


def test_without_pairs_of_one_class_there_is_no_share(make_set):
    items = make_set("i", list("xyz"), np.eye(3))
    for sample in (None, 10):
        result = strict_criterion(items, items, sample=sample)
        assert result.different.value == 1
        assert np.isnan(result.same.value)


def test_wilsons_interval():
    # Of 10 pairs, 0 hold: the upper end is z^2 / (n + z^2).
    low, high = PairShare(0, 10, 1000, 0.95).interval

    assert low == pytest.approx(0, abs=1e-12)
    assert high == pytest.approx(1.959964**2 / (10 + 1.959964**2), rel=1e-6)


def test_other_items_are_refused(versions):
    old, new = versions()
    with pytest.raises(ValueError, match="`new` should hold the items of `old`"):
        strict_criterion(old, new.take(np.arange(60)[::-1]))
    with pytest.raises(ValueError, match="two or more"):
        strict_criterion(old.take(np.arange(1)), new.take(np.arange(1)))
    with pytest.raises(ValueError, match="`confidence`"):
        strict_criterion(old, new, confidence=95)
