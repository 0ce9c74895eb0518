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

RETRIEVAL = ("retrieval/mAP", "retrieval/CMC@1", "retrieval/CMC@5")
ACCEPTANCE = ("verification/TAR@FAR=0.01", "verification/TAR@FAR=0.2")
DISTANCES = ("cosine", "l2", "inner_product")


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


@pytest.mark.parametrize("cutoffs", [None, np.array([0, 13, 70])])
@pytest.mark.parametrize("grouped", [False, True])
def test_how_the_work_is_done_changes_no_digit(make_backfill, cutoffs, grouped):
    """Above all not which thread had which queries, which differs from run to run."""
    backfill = make_backfill()
    groups = np.arange(len(backfill["queries"])) % 3 if grouped else None
    found = set()
    for workers, block_rows in [(1, None), (1, 7), (5, 1), (5, 1), (5, 1), (3, 2)]:
        curve = backfilling_curve(
            **backfill,
            metrics=RETRIEVAL + ACCEPTANCE,
            cutoffs=cutoffs,
            groups=groups,
            execution=Execution(workers=workers, block_rows=block_rows),
        )
        curves = [curve.values, *(curve.groups or {}).values()]
        found.add(b"".join(c[m].tobytes() for c in curves for m in sorted(c)))
    assert len(found) == 1


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
