"""Every way to a threshold: found at once, missed by the sample, lost among ties."""

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from keras_bct.evaluation import Execution, measure
from keras_bct.evaluation.verification import acceptance, all_pairs
from keras_bct.evaluation.verification.scored_pairs import PairLimits

RATES = [0.001, 0.01, 0.1, 0.3, 0.9]


@pytest.fixture
def little_memory(monkeypatch):
    """A tail of 200 pairs and a sample of one block, as if there were billions."""
    limits = PairLimits(tail=200, sample=50, window=100)
    monkeypatch.setattr(all_pairs, "LIMITS", limits)
    monkeypatch.setattr(acceptance, "_SPARE_PAIRS", 20)


def equal_error(false, true):
    """The crossing of false accepts and false rejects on straight lines."""
    missed = 1 - true
    i = np.flatnonzero(false >= missed)[0]
    rise = (false[i] - missed[i]) - (false[i - 1] - missed[i - 1])
    part = (missed[i - 1] - false[i - 1]) / rise
    return false[i - 1] + part * (false[i] - false[i - 1])


@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product"])
@pytest.mark.parametrize("rows", ["scattered", "tied", "equal"])
@pytest.mark.parametrize("seed", range(3))
def test_thresholds_are_exact_with_little_memory(
    little_memory, make_protocol, make_set, reference_scores, distance, rows, seed
):
    generator = np.random.default_rng(seed)
    asked, stored = generator.integers(0, 6, 90), generator.integers(0, 6, 110)
    centres = generator.normal(size=(6, 5))
    left = centres[asked] + 0.5 * generator.normal(size=(90, 5))
    right = centres[stored] + 0.5 * generator.normal(size=(110, 5))
    if rows == "tied":
        left, right = np.ceil(left) + 0.25, np.ceil(right) + 0.25
    if rows == "equal":
        left, right = np.ones((90, 4)), np.ones((110, 4))
    queries = make_set("q", asked.astype(str), left)
    gallery = make_set("g", stored.astype(str), right)
    scores = reference_scores(distance, queries, gallery)
    # Equal pairs of rows have equal scores to the last bit; the formula's may differ.
    same = (asked[:, None] == stored).ravel()
    false, true, _ = roc_curve(same, scores.ravel().round(13), drop_intermediate=False)
    protocol = make_protocol(
        *(f"verification/TAR@FAR={rate}" for rate in RATES),
        "verification/EER",
        distance=distance,
    )

    result = measure(protocol, queries, gallery, execution=Execution(block_rows=20))

    if distance == "cosine" and rows == "tied":
        return  # Ties of the formula, such as (1, 1) with (2, 2), may be none here.
    for rate in RATES:
        value = result.values[f"verification/TAR@FAR={rate}"]
        assert value == pytest.approx(true[false <= rate][-1], abs=1e-12)
    assert result.values["verification/EER"] == pytest.approx(
        equal_error(false, true), abs=1e-12
    )


def test_a_sampled_tail_gives_about_the_interval_of_the_whole(
    little_memory, make_protocol, make_people, monkeypatch
):
    queries, gallery = make_people()
    metric = "verification/TAR@FAR=0.1"
    sampled = measure(make_protocol(metric), queries, gallery)
    monkeypatch.undo()
    whole = measure(make_protocol(metric), queries, gallery)

    assert sampled.verification.tails[0.1].kept < 0.5
    assert whole.verification.tails[0.1].kept == 1
    assert sampled.values == whole.values
    assert sampled.interval(metric) == pytest.approx(whole.interval(metric), abs=0.05)


def test_of_too_many_genuine_pairs_a_sample_is_held(
    make_protocol, make_people, monkeypatch
):
    queries, gallery = make_people()
    metric = "verification/TAR@FAR=0.1"
    whole = measure(make_protocol(metric), queries, gallery)
    monkeypatch.setattr(all_pairs, "LIMITS", PairLimits(genuine=200))
    sampled = measure(make_protocol(metric), queries, gallery)

    assert len(whole.verification.genuine.scores) == 360
    assert 150 < len(sampled.verification.genuine.scores) < 250
    assert sampled.values == whole.values
    assert sampled.counts == whole.counts
    assert sampled.interval(metric) == pytest.approx(whole.interval(metric), abs=0.1)


def test_samples_do_not_depend_on_the_order(little_memory, make_protocol, make_people):
    queries, gallery = make_people()
    order = np.random.default_rng(1).permutation(len(gallery))
    metric = "verification/TAR@FAR=0.01"
    one = measure(make_protocol(metric), queries, gallery)
    other = measure(make_protocol(metric), queries, gallery.take(order))

    assert one.values == other.values


def test_the_roc_is_that_of_scikit_learn(make_protocol, make_people, reference_scores):
    queries, gallery = make_people()
    result = measure(make_protocol("verification/TAR@FAR=0.01"), queries, gallery)
    scores = reference_scores("cosine", queries, gallery).ravel()
    same = (queries.labels[:, None] == gallery.labels).ravel()
    false, true, _ = roc_curve(same, scores, drop_intermediate=False)

    _, far, tar = result.verification.roc()

    assert (np.diff(far) >= 0).all()
    assert (np.diff(tar) >= 0).all()
    assert set(false.round(12)) <= {0.0, *far.round(12)}
    # At each rate of the reference the best share is met.
    for i in range(0, len(false), 97):
        assert tar[far <= false[i] + 1e-12].max(initial=0) == pytest.approx(
            true[false <= false[i]].max(), abs=0.01
        )
