import numpy as np
import pytest
from sklearn.metrics import roc_curve

from keras_bct.evaluation import (
    EmbeddingSet,
    Execution,
    RankCounts,
    backfilling_curve,
    measure,
)
from keras_bct.evaluation import backfilling_curve as function
from keras_bct.evaluation.backfilling_curve import (
    acceptance_cutoffs,
    paper_cutoffs,
)

RETRIEVAL = ("retrieval/mAP", "retrieval/CMC@1", "retrieval/CMC@5")
ACCEPTANCE = ("verification/TAR@FAR=0.01", "verification/TAR@FAR=0.2")
DISTANCES = ("cosine", "l2", "inner_product")


@pytest.fixture
def make_backfill(make_set):
    """Gives the old and new gallery, queries and an order."""

    def make(rows="scattered", items=70, asked=40, classes=6, seed=0):
        generator = np.random.default_rng(seed)
        stored = generator.integers(0, classes, items)
        wanted = generator.integers(0, classes + 1, asked)
        centres = generator.normal(size=(classes + 1, 4))
        sides = []
        for who, noise in ((stored, 1.0), (stored, 0.5), (wanted, 0.5)):
            rows_ = centres[who] + noise * generator.normal(size=(len(who), 4))
            if rows == "tied":
                rows_ = np.ceil(rows_) + 0.25
            if rows == "equal":
                rows_ = np.ones_like(rows_)
            sides.append(rows_)
        labels = stored.astype(str)
        return {
            "old": make_set("g", labels, sides[0]),
            "new": make_set("g", labels, sides[1]),
            "queries": make_set("q", wanted.astype(str), sides[2]),
            "order": generator.permutation(items),
        }

    return make


def mixed(backfill, cutoff):
    """The gallery of which so many items in the order are new."""
    rows = backfill["old"].embeddings.copy()
    moved = backfill["order"][:cutoff]
    rows[moved] = backfill["new"].embeddings[moved]
    old = backfill["old"]
    return EmbeddingSet(old.ids, old.labels, old.cameras, rows)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("rows", ["scattered", "tied", "equal"])
def test_each_point_is_an_evaluation_of_its_own(
    make_protocol, make_backfill, distance, rows
):
    backfill = make_backfill(rows)
    curve = backfilling_curve(
        **backfill,
        metrics=RETRIEVAL + ACCEPTANCE,
        distance=distance,
        execution=Execution(block_rows=7),
    )
    protocol = make_protocol(*RETRIEVAL, *ACCEPTANCE, distance=distance)

    for cutoff in range(71):
        whole = measure(protocol, backfill["queries"], mixed(backfill, cutoff))
        for metric in RETRIEVAL + ACCEPTANCE:
            assert curve.cutoffs[metric][cutoff] == cutoff
            assert curve.values[metric][cutoff] == pytest.approx(
                whole.values[metric], abs=1e-9
            )


@pytest.mark.parametrize("rows", ["scattered", "tied"])
def test_few_cutoffs_are_points_of_the_whole_curve(make_backfill, rows, monkeypatch):
    backfill = make_backfill(rows, items=200)
    whole = backfilling_curve(**backfill, metrics=RETRIEVAL)
    few = backfilling_curve(**backfill, metrics=RETRIEVAL, cutoffs=paper_cutoffs(200))

    assert len(whole.values["retrieval/mAP"]) == 201
    for metric in RETRIEVAL:
        assert few.values[metric] == pytest.approx(
            whole.values[metric][paper_cutoffs(200)], abs=1e-12
        )
        assert few.area(metric) == pytest.approx(few.values[metric].mean())
        assert few.area(metric) == pytest.approx(whole.area(metric))


def test_against_float64_and_scikit_learn(make_backfill, reference_scores):
    backfill = make_backfill()
    queries = backfill["queries"]
    curve = backfilling_curve(**backfill, metrics=("retrieval/mAP", ACCEPTANCE[1]))
    relevant = queries.labels[:, None] == backfill["old"].labels

    for cutoff in (0, 13, 70):
        scores = reference_scores("l2", queries, mixed(backfill, cutoff))
        precision = RankCounts.of_scores(scores, relevant).average_precision()
        false, true, _ = roc_curve(
            relevant.ravel(), scores.ravel(), drop_intermediate=False
        )
        assert curve.values["retrieval/mAP"][cutoff] == pytest.approx(
            np.nanmean(precision)
        )
        assert curve.values[ACCEPTANCE[1]][cutoff] == true[false <= 0.2][-1]


def test_without_queries_the_new_items_ask_each_without_itself(
    make_protocol, make_backfill
):
    backfill = make_backfill()
    del backfill["queries"]
    curve = backfilling_curve(**backfill, metrics=["retrieval/CMC@1"])
    protocol = make_protocol("retrieval/CMC@1", distance="l2")

    for cutoff, gallery in ((0, backfill["old"]), (70, backfill["new"])):
        expected = measure(protocol, backfill["new"], gallery).values
        assert curve.values["retrieval/CMC@1"][cutoff] == pytest.approx(
            expected["retrieval/CMC@1"]
        )


@pytest.mark.parametrize("metric", ["retrieval/mAP", ACCEPTANCE[1]])
def test_a_group_is_a_curve_over_its_queries(make_backfill, metric):
    backfill = make_backfill(asked=60)
    groups = np.where(np.arange(60) % 3 == 0, "few", "many")
    curve = backfilling_curve(**backfill, metrics=[metric], groups=groups)

    for group in ("few", "many"):
        chosen = backfill["queries"].take(groups == group)
        alone = backfilling_curve(**backfill | {"queries": chosen}, metrics=[metric])
        assert curve.groups[group][metric] == pytest.approx(alone.values[metric])
        assert curve.area(metric, group) == pytest.approx(alone.area(metric))
    together = backfilling_curve(**backfill, metrics=[metric])
    assert curve.values[metric] == pytest.approx(together.values[metric])
    assert curve.gap(metric) == pytest.approx(
        abs(curve.groups["few"][metric] - curve.groups["many"][metric])
    )


def test_a_floor_that_was_guessed_too_high_is_lowered(make_backfill, monkeypatch):
    backfill = make_backfill()
    expected = backfilling_curve(**backfill, metrics=ACCEPTANCE)
    module = __import__("keras_bct.evaluation.backfilling_curve", fromlist=["_SLACK"])
    monkeypatch.setattr(module, "_SLACK", 0.05)
    again = backfilling_curve(**backfill, metrics=ACCEPTANCE)

    for metric in ACCEPTANCE:
        assert (again.values[metric] == expected.values[metric]).all()


def test_areas(make_backfill):
    curve = backfilling_curve(**make_backfill(items=21), metrics=["retrieval/mAP"])
    values = curve.values["retrieval/mAP"]

    assert curve.area("retrieval/mAP") == pytest.approx(values.mean())
    expected = (values[1:] + values[:-1]).mean() / 2
    assert curve.exact_area("retrieval/mAP") == pytest.approx(expected)
    assert curve.normalised_area("retrieval/mAP", 0.1, 0.9) == pytest.approx(
        (values.mean() - 0.1) / 0.8
    )
    with pytest.raises(ValueError, match="`new_new`"):
        curve.normalised_area("retrieval/mAP", 0.9, 0.9)


def test_the_papers_cutoffs_are_among_those_of_acceptance():
    for items in (5, 22, 100, 101, 5000):
        cutoffs = acceptance_cutoffs(items)
        assert len(cutoffs) == min(items + 1, 101)
        assert set(paper_cutoffs(items)) <= set(cutoffs)
        assert (np.diff(cutoffs) > 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": np.zeros(70, int)}, "`order`.*once"),
        ({"order": np.arange(69)}, "`order`"),
        ({"order": np.arange(70.0)}, "`order`"),
        ({"metrics": ["retrieval/nDCG"]}, "to have a curve"),
        ({"metrics": ["retrieval/mAP@5"]}, "to have a curve"),
        ({"cutoffs": np.array([0, 71])}, "`cutoffs`"),
        ({"cutoffs": np.array([3, 3])}, "`cutoffs`"),
        ({"groups": ["a"]}, "`groups`.*40 queries"),
    ],
)
def test_what_has_no_curve_is_refused(make_backfill, change, message):
    with pytest.raises(ValueError, match=message):
        backfilling_curve(**make_backfill() | change)


def test_other_items_are_refused(make_backfill):
    backfill = make_backfill()
    backfill["new"] = backfill["new"].take(np.arange(70)[::-1])
    with pytest.raises(ValueError, match="`new` should hold the items of `old`"):
        function(**backfill)
    backfill["new"] = backfill["old"]
    curve = function(**backfill, metrics=["retrieval/mAP"], cutoffs=[0, 5])
    with pytest.raises(ValueError, match="22 cut-offs"):
        curve.area("retrieval/mAP")
