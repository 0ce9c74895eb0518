import dataclasses

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, mean_squared_error, r2_score
from sklearn.metrics.pairwise import cosine_similarity, paired_cosine_distances

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

    report = bridging_report(ridge, old, new, labels=labels, protocol=PROTOCOL)

    assert report.comparison["retrieval/mAP"].gain > 0.8
    (warning,) = report.warnings
    assert "no `queries` were given" in warning
    gain = report.comparison["retrieval/mAP"]
    low, high = gain.gain_interval(0.95)
    assert f"gain {gain.gain:.1%} ({low:.1%} to {high:.1%})" in str(report)
    assert report.to_backfill["retrieval/mAP"] < 1


class TestQueries:
    """The gallery's pictures have twins of their camera; those of the queries not."""

    @pytest.fixture
    def world(self):
        generator = np.random.default_rng(0)
        turn = np.random.default_rng(7).normal(size=(6, 6))

        def side(prefix, labels, cameras):
            # What only one camera sees of a class helps among its own pictures alone.
            seen = centres[labels] + 2 * by_camera[labels, cameras]
            new = seen + 0.1 * generator.normal(size=seen.shape)
            old = new @ turn + 0.5 * generator.normal(size=seen.shape)
            names = [f"{prefix}{i}" for i in range(len(labels))]
            return names, labels.astype(str), cameras.astype(str), old, new

        centres = generator.normal(size=(20, 6))
        by_camera = generator.normal(size=(20, 3, 6))
        who = np.repeat(np.arange(20), 12)
        gallery = side("g", who, np.arange(240) % 2)
        return gallery, side("q", np.repeat(np.arange(20), 4), np.full(80, 2))

    def sets(self, queries):
        ids, labels, cameras, *versions = queries
        return tuple(EmbeddingSet(ids, labels, cameras, rows) for rows in versions)

    @pytest.mark.parametrize("backward", [False, True])
    def test_real_queries_give_the_numbers(self, world, backward):
        (ids, labels, cameras, old, new), queries = world
        fit = Ridge().fit_backward if backward else Ridge().fit
        adapter = fit(old, new, **SIDES)

        report = bridging_report(
            adapter,
            old,
            new,
            labels=labels,
            cameras=cameras,
            ids=ids,
            queries=self.sets(queries),
        )

        asked_old, asked_new = queries[3:]
        asked, stored = (
            (adapter.transform(asked_new), old)
            if backward
            else (asked_new, adapter.transform(old))
        )
        found = report.comparison["retrieval/mAP"]
        for measured, left, right in (
            (found.old_old, asked_old, old),
            (found.new_old, asked, stored),
            (found.new_new, asked_new, new),
        ):
            scores = cosine_similarity(left, right)
            same = queries[1][:, None] == labels
            expected = [
                average_precision_score(s, r) for s, r in zip(same, scores, strict=True)
            ]
            assert measured == pytest.approx(np.mean(expected), abs=1e-6)
        assert not [w for w in report.warnings if "were given" in w]
        assert report.comparison.counts["queries"] == 80

    def test_gallery_items_as_queries_flatter_and_are_warned_of(self, world):
        (ids, labels, cameras, old, new), queries = world
        ridge = Ridge().fit(old, new, **SIDES)

        def bridged(**given):
            report = bridging_report(ridge, old, new, labels=labels, **given)
            return report.comparison["retrieval/CMC@1"].new_old, report.warnings

        flattered, (no_queries, no_cameras, *_) = bridged()
        without_camera, (warning, *others) = bridged(cameras=cameras)
        real, _ = bridged(cameras=cameras, ids=ids, queries=self.sets(queries))

        assert flattered > 0.95 > 0.7 > max(without_camera, real)
        assert "no `queries` were given" in no_queries and warning == no_queries
        assert "no `cameras` were given" in no_cameras
        assert not any("`cameras`" in text for text in others)

    def test_a_query_that_is_a_pair_does_not_find_itself(self, world):
        ids, labels, cameras, old, new = world[0]
        ridge = Ridge().fit(old, new, **SIDES)
        queries = self.sets(world[0])
        given = {"labels": labels, "cameras": cameras, "ids": ids}

        found = bridging_report(ridge, old, new, **given, queries=queries)

        expected = bridging_report(ridge, old, new, **given)
        assert found.comparison.counts == expected.comparison.counts
        for metric in found.comparison.metrics:
            left, right = found.comparison[metric], expected.comparison[metric]
            assert (left.old_old, left.new_old, left.new_new) == (
                right.old_old,
                right.new_old,
                right.new_new,
            )
        assert found.to_backfill == expected.to_backfill

    def test_what_cannot_be_asked_is_refused(self, world):
        ids, labels, _, old, new = world[0]
        ridge = Ridge().fit(old, new, **SIDES)
        queries = self.sets(world[1])

        def ask(queries, **given):
            return bridging_report(ridge, old, new, queries=queries, **given)

        with pytest.raises(ValueError, match="labels given, ids none"):
            ask(queries, labels=labels)
        with pytest.raises(ValueError, match="labels none, ids given"):
            ask(queries, ids=ids)
        with pytest.raises(ValueError, match=r"`queries\[1\]` should hold the items"):
            ask((queries[0], queries[1].take(np.arange(5))), ids=ids, labels=labels)
        with pytest.raises(ValueError, match="needs cameras on both sides"):
            ask(
                queries,
                ids=ids,
                labels=labels,
                protocol=dataclasses.replace(PROTOCOL, exclude=("same_camera",)),
            )


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
    assert report.warnings[3] == (
        "retrieval/mAP: bridging is not shown to be better than staying with the old "
        f"model: {found.new_old:.4f} bridged, {found.old_old:.4f} as it is, difference "
        f"{low:+.4f} to {high:+.4f} at 95%."
    )
    share = report.to_backfill["retrieval/mAP"]
    assert 0.5 < share <= 1
    assert f"takes backfilling {share:.1%} of the gallery" in report.warnings[-1]
    assert report.warnings[3] in str(report)


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

    assert "nothing to gain" in report.warnings[3]


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


def explained(mapped, target):
    """Gives what NumPy's and scikit-learn's best multiple of the map explains."""
    multiple = np.linalg.lstsq(mapped.reshape(-1, 1), target.ravel(), rcond=None)[0]
    share = r2_score(target, multiple * mapped, multioutput="variance_weighted")
    return max(share, 0) if multiple > 0 else 0


@pytest.mark.parametrize("backward", [False, True])
def test_a_map_that_explains_nothing_is_warned_of_without_labels(backward):
    fit = Ridge().fit_backward if backward else Ridge().fit
    old, new, _ = versions()
    adapter = fit(old, new, **SIDES)
    # Pairs that are none: each row beside another item's.
    rows = {"old": old, "new": new[::-1]}
    share = explained(adapter.transform(rows[adapter.source]), rows[adapter.target])

    report = bridging_report(adapter, **rows)

    (warning,) = report.warnings
    assert f"explains {share:.1%} of the variance of the rows" in warning
    assert f"`{adapter.target}`, whatever it is multiplied by" in warning
    assert warning in str(report)


@pytest.mark.parametrize("far", [-100.0, 100.0])
def test_a_map_to_another_place_is_warned_of_whatever_its_directions(ridge, far):
    old, new, _ = versions()
    moved = AffineMap(ridge.map.matrix, ridge.map.offset + far)

    report = bridging_report(dataclasses.replace(ridge, map=moved), old, new)

    assert report.missed > 100
    assert "explains 0.0% of the variance" in " ".join(report.warnings)


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


@pytest.mark.parametrize("strong", [4, 16, 32])
def test_a_rich_new_model_beside_a_poor_old_one_is_no_fault(strong):
    """Though the other way explains more: the target varies in more directions."""
    generator = np.random.default_rng(0)
    new = generator.normal(size=(3000, 64))
    old = new * (np.arange(64) < strong) + 0.3 * generator.normal(size=new.shape)
    adapter = Ridge().fit(old[:2000], new[:2000], **SIDES)

    assert bridging_report(adapter, old[2000:], new[2000:]).warnings == ()


@pytest.mark.parametrize("mean", [0.0, 1e7, 1e9])
def test_how_far_the_rows_are_from_zero_is_no_matter(mean):
    generator = np.random.default_rng(0)
    new = mean + generator.normal(size=(1000, 8))
    old = new + 0.3 * generator.normal(size=new.shape)
    adapter = Ridge().fit(old, new, **SIDES)

    assert bridging_report(adapter, old, new).warnings == ()


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_the_unit_of_the_embeddings_is_no_matter(ridge, unit):
    old, new, _ = versions()
    there = dataclasses.replace(
        ridge, map=AffineMap(ridge.map.matrix, unit * ridge.map.offset)
    )

    found = bridging_report(there, unit * old, unit * new)

    expected = bridging_report(ridge, old, new)
    assert found.missed == pytest.approx(expected.missed)
    assert found.cosine == pytest.approx(expected.cosine)
    assert found.squared_error == pytest.approx(unit**2 * expected.squared_error)
    assert found.warnings == ()


@pytest.mark.parametrize("large", ["old", "new"])
def test_what_float64_cannot_square_is_refused(ridge, large):
    sides = dict(zip(("old", "new"), versions()[:2], strict=True))
    sides[large] = sides[large] * 1e200

    with pytest.raises(ValueError, match=r"`old` and `new` should be small enough"):
        bridging_report(ridge, **sides)


def test_rows_without_a_direction_have_no_part_in_the_cosine():
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    turned = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    same = by_hand(np.eye(2))

    # Of the first and the last: 45 degrees and none.
    assert bridging_report(same, rows, turned).cosine == pytest.approx(
        (0.5**0.5 + 1) / 2
    )
    assert np.isnan(bridging_report(same, 0 * rows, turned).cosine)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_labels_that_are_missing_are_refused(ridge, missing):
    old, new, _ = versions()

    with pytest.raises(ValueError, match=r"`labels` .* in row 0"):
        bridging_report(ridge, old, new, labels=[missing] * 600)


def test_of_one_class_there_is_nothing_to_gain(ridge):
    old, new, _ = versions()

    report = bridging_report(ridge, old, new, labels=["all"] * 600)

    assert report.comparison["retrieval/mAP"].gain is None
    assert "nothing to gain" in " ".join(report.warnings)


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
