import dataclasses

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.metrics.pairwise import paired_cosine_distances

from keras_bct.adapters import AffineMap, OldToNew, Ridge
from keras_bct.backfill import bridging_report, distance_to_new, highest_first
from keras_bct.evaluation import EmbeddingSet, Protocol, Source, measure

SIDES = {"old_fingerprint": "old-model", "new_fingerprint": "new-model"}
SOURCE = Source("embeddings", "none")
PROTOCOL = Protocol("held out", SOURCE, SOURCE, ("retrieval/mAP",))


def versions(items=600, seed=0):
    """Gives old and new embeddings and labels: the old side adds noise of its own."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 30, items)
    centres = np.random.default_rng(99).normal(size=(30, 6))
    new = centres[labels] + 0.35 * generator.normal(size=(items, 6))
    seen = new @ np.random.default_rng(98).normal(size=(6, 6))
    seen += 0.2 * generator.normal(size=seen.shape)
    noise = 5 * generator.normal(size=(items, 2))
    return np.hstack([seen, noise]), new, labels.astype(str)


@pytest.fixture
def ridge():
    old, new, _ = versions(seed=1)
    return Ridge().fit(old, new, **SIDES)


def by_hand(matrix):
    return OldToNew(
        map=AffineMap(matrix, np.zeros(matrix.shape[1])),
        method="by hand",
        pairs=0,
        **SIDES,
    )


def test_errors_are_those_of_scikit_learn():
    old, new, _ = versions()
    adapter = by_hand(np.random.default_rng(5).normal(size=(8, 6)))
    mapped = adapter.transform(old)

    report = bridging_report(adapter, old, new)

    assert report.squared_error == pytest.approx(6 * mean_squared_error(new, mapped))
    assert 1 - report.missed == pytest.approx(
        r2_score(new, mapped, multioutput="variance_weighted")
    )
    assert 1 - report.cosine == pytest.approx(
        paired_cosine_distances(new, mapped).mean()
    )
    assert report.comparison is None


@pytest.mark.parametrize("backward", [False, True])
def test_the_criterion_is_measured_through_the_map(backward):
    fit = Ridge().fit_backward if backward else Ridge().fit
    adapter = fit(*versions(seed=1)[:2], **SIDES)
    old, new, labels = versions()

    report = bridging_report(adapter, old, new, labels=labels, protocol=PROTOCOL)

    def value(queries, gallery):
        ids = np.arange(600).astype(str)
        sides = [EmbeddingSet(ids, labels, None, rows) for rows in (queries, gallery)]
        return measure(PROTOCOL, *sides).values["retrieval/mAP"]

    found = report.comparison["retrieval/mAP"]
    bridged = (
        value(adapter.transform(new), old)
        if backward
        else value(new, adapter.transform(old))
    )
    assert found.old_old == value(old, old)
    assert found.new_old == bridged
    assert found.new_new == value(new, new)
    if not backward:
        assert found.gain == pytest.approx(
            (bridged - found.old_old) / (found.new_new - found.old_old)
        )


def test_a_map_that_is_worth_it_is_not_warned_of(ridge):
    old, new, labels = versions()

    report = bridging_report(ridge, old, new, labels=labels)

    assert report.comparison["retrieval/mAP"].gain > 0.8
    assert report.warnings == ()
    assert f"gain {report.comparison['retrieval/mAP'].gain:.1%}" in str(report)
    assert report.to_backfill["retrieval/mAP"] < 1


def test_one_that_recovers_less_than_it_should_is_warned_of_with_numbers(ridge):
    old, new, labels = versions()
    report = bridging_report(ridge, old, new, labels=labels, worth=1.0)
    gain = report.comparison["retrieval/mAP"].gain

    assert f"bridging recovers {gain:.1%} of what a full backfill gains" in " ".join(
        report.warnings
    )
    share = report.to_backfill["retrieval/mAP"]
    assert f"takes backfilling {share:.1%} of the gallery" in report.warnings[-1]


def test_one_that_is_worse_than_staying_is_warned_of_with_what_to_backfill():
    old, new, labels = versions()
    lost = by_hand(np.random.default_rng(5).normal(size=(8, 6)))

    report = bridging_report(lost, old, new, labels=labels)

    found = report.comparison["retrieval/mAP"]
    low, high = found.difference_interval(0.95)
    assert high < 0
    assert report.warnings[1] == (
        "retrieval/mAP: bridging is not shown to be better than staying with the old "
        f"model: {found.new_old:.4f} bridged, {found.old_old:.4f} as it is, difference "
        f"{low:+.4f} to {high:+.4f} at 95%."
    )
    share = report.to_backfill["retrieval/mAP"]
    assert 0.5 < share <= 1
    assert f"takes backfilling {share:.1%} of the gallery" in report.warnings[-1]
    assert report.warnings[1] in str(report)


def test_what_is_left_to_backfill_is_where_the_goal_is_reached_for_good():
    old, new, labels = versions(items=200)
    lost = by_hand(np.random.default_rng(5).normal(size=(8, 6)))
    order = highest_first(distance_to_new(lost.transform(old), new))

    share = bridging_report(
        lost, old, new, labels=labels, protocol=PROTOCOL, order=order
    ).to_backfill["retrieval/mAP"]

    def after(count):
        rows = lost.transform(old)
        rows[order[:count]] = new[order[:count]]
        ids = np.arange(200).astype(str)
        sides = [EmbeddingSet(ids, labels, None, side) for side in (new, rows)]
        return measure(PROTOCOL, *sides).values["retrieval/mAP"]

    count = round(share * 200)
    goal = 0.95 * after(200)
    assert after(count - 1) < goal <= min(after(count), after(count + 1))


def test_a_new_model_that_is_no_better_leaves_nothing_to_gain(ridge):
    old, new, labels = versions()
    worse = np.random.default_rng(0).normal(size=new.shape)

    report = bridging_report(ridge, old, worse, labels=labels)

    assert "nothing to gain" in report.warnings[1]


def test_the_first_items_are_those_of_the_predicted_variance():
    class Sure:
        """The identity, which is sure of the items that it was told."""

        kind, side_size, has_variance = "by hand", None, True
        input_size = output_size = 6

        def with_variance(self, rows, side_information=None, *, name):
            return rows, -np.arange(len(rows), dtype=np.float32)

    old, new, labels = versions(items=200)
    old = old[:, :6]
    adapter = dataclasses.replace(by_hand(np.eye(6)), map=Sure())

    by_variance = bridging_report(adapter, old, new, labels=labels)
    told = bridging_report(adapter, old, new, labels=labels, order=np.arange(200))

    assert by_variance.to_backfill == told.to_backfill


@pytest.mark.parametrize("backward", [False, True])
def test_a_map_that_explains_nothing_is_warned_of_without_labels(backward):
    fit = Ridge().fit_backward if backward else Ridge().fit
    old, new, _ = versions()
    adapter = fit(old, new, **SIDES)
    # Pairs that are none: each row beside another item's.
    rows = {"old": old, "new": new[::-1]}
    mapped, target = adapter.transform(rows[adapter.source]), rows[adapter.target]
    sides = [side - side.mean(axis=0) for side in (mapped, target)]
    correlation = max(np.corrcoef(*(side.ravel() for side in sides))[0, 1], 0)

    report = bridging_report(adapter, **rows)

    (warning,) = report.warnings
    assert f"explains {correlation**2:.1%} of the variance of the rows" in warning
    assert f"`{adapter.target}`, whatever it is multiplied by" in warning
    assert warning in str(report)


@pytest.mark.parametrize("factor", [0.1, 1.0, 30.0])
def test_a_map_to_the_right_place_is_sound_whatever_its_lengths(factor):
    """A rotation, or a map to unit vectors, leads to other lengths by nature."""
    _, new, _ = versions()
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]

    report = bridging_report(by_hand(factor * turn.T), new @ turn, new)

    assert report.warnings == ()


def test_one_pair_has_no_variance_that_a_map_could_fail_to_explain(ridge):
    old, new, _ = versions()

    assert bridging_report(ridge, old[:1], new[:1]).warnings == ()


def test_exchanged_sides_are_warned_of_where_the_map_shows_it():
    # Not where it nearly does nothing: then either side is as near.
    _, new, _ = versions()
    old = 3 * np.roll(new, 1, axis=1)
    adapter = Ridge().fit(old, new, **SIDES)

    assert bridging_report(adapter, old, new).warnings == ()
    (warning,) = bridging_report(adapter, new, old).warnings
    assert "`old` and `new` are not exchanged" in warning


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda old, new: (old, new[1:]), "600 and 599 rows"),
        (lambda old, new: (old[:0], new[:0]), "at least one pair. Received: 0"),
        (lambda old, new: (old[:, :5], new), r"`old` .* \(n, 8\).* \(600, 5\)"),
        (lambda old, new: (old, new[:, :5]), r"`new` .* \(n, 6\).* \(600, 5\)"),
        (lambda old, new: (new, old), r"`old` .* \(n, 8\).* \(600, 6\)"),
        (lambda old, new: (with_row(old, 7, np.nan), new), "`old` .* in row 7"),
        (lambda old, new: (old, with_row(new, 9, np.nan)), "`new` .* in row 9"),
        (lambda old, new: (old, with_row(new, 9, np.inf)), "`new` .* in row 9"),
    ],
)
def test_sides_that_are_no_pairs_of_the_map_are_refused_by_name(
    change, message, labelled, backward
):
    old, new, labels = versions()
    adapter = (Ridge().fit_backward if backward else Ridge().fit)(old, new, **SIDES)
    old, new = change(old, new)

    with pytest.raises(ValueError, match=message):
        bridging_report(
            adapter, old, new, labels=labels[: len(old)] if labelled else None
        )


def with_row(rows, number, value):
    changed = rows.copy()
    changed[number] = value
    return changed
