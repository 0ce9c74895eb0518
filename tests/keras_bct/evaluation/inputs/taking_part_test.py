"""What has no label, camera, template or medium belongs to nobody."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_curve

from keras_bct.evaluation import (
    Comparison,
    EmbeddingSet,
    backfilling_curve,
    compare,
    measure,
    measure_groups,
    measure_rank_merge,
    pool_templates,
    prototypes_of,
    strict_criterion,
)

EVERY_TASK = (
    "retrieval/mAP",
    "retrieval/CMC@1",
    "retrieval/precision@5",
    "verification/TAR@FAR=0.01",
    "verification/EER",
    "identification/TPIR@FPIR=0.1",
    "identification/rank@1",
    "prototype/accuracy",
)


def without_labels(items, which):
    labels = np.where(which, "", items.labels)
    return EmbeddingSet(items.ids, labels, items.cameras, items.embeddings)


@pytest.fixture
def people(make_people):
    """Queries and a gallery, some of each side without a label."""
    queries, gallery = make_people()
    hidden = np.arange(len(queries)) % 4 == 1, np.arange(len(gallery)) % 3 == 0
    return (
        without_labels(queries, hidden[0]),
        without_labels(gallery, hidden[1]),
        queries.take(~hidden[0]),
        gallery.take(~hidden[1]),
    )


@pytest.mark.parametrize("missing", ["", b"", None, float("nan")])
def test_perfect_items_stay_perfect_where_some_are_not_labelled(
    make_protocol, make_set, missing
):
    # 100 items of 20 classes, each class a direction of its own; 40 have no label.
    code = np.arange(100) % 20
    labels = [missing if i < 40 else f"class {c}" for i, c in enumerate(code)]
    items = make_set("i", labels, np.eye(20)[code])

    result = measure(
        make_protocol("retrieval/mAP", "verification/TAR@FAR=0.01"), items, items
    )

    assert result.values == {"retrieval/mAP": 1.0, "verification/TAR@FAR=0.01": 1.0}
    assert result.counts["queries"] == result.counts["gallery"] == 60
    assert result.counts["queries_without_label"] == 40
    assert result.counts["gallery_without_label"] == 40
    assert "40 items of the queries have no label and were left out." in (
        result.warnings
    )


def test_the_values_are_those_of_the_labelled_items(
    make_protocol, people, reference_scores
):
    queries, gallery, asked, stored = people
    scores = reference_scores("cosine", asked, stored)
    same = asked.labels[:, None] == stored.labels
    precision = [
        average_precision_score(s, r)
        for s, r in zip(same, scores, strict=True)
        if s.any()
    ]
    false, true, _ = roc_curve(same.ravel(), scores.ravel(), drop_intermediate=False)

    found = measure(make_protocol(*EVERY_TASK), queries, gallery)

    assert found.values["retrieval/mAP"] == pytest.approx(np.mean(precision), abs=1e-9)
    assert found.values["verification/TAR@FAR=0.01"] == true[false <= 0.01][-1]
    expected = measure(make_protocol(*EVERY_TASK), asked, stored)
    assert found.values == expected.values
    for metric in EVERY_TASK:
        assert (found.replicates(metric) == expected.replicates(metric)).all()
        assert found.identities(metric) == expected.identities(metric)


def test_a_listed_pair_that_names_nobody_is_left_out(make_protocol, people):
    queries, gallery, asked, stored = people
    rows = np.random.default_rng(0).integers(0, 108, (3000, 2))
    named = np.stack([queries.ids[rows[:, 0]], gallery.ids[rows[:, 1]]], axis=1)
    known = (queries.labels[rows[:, 0]] != "") & (gallery.labels[rows[:, 1]] != "")
    protocol = make_protocol("verification/TAR@FAR=0.1")

    by_row = measure(protocol, queries, gallery, pairs=rows)
    by_id = measure(protocol, queries, gallery, pairs=named)

    assert by_row.values == by_id.values
    assert by_row.values == measure(protocol, asked, stored, pairs=named[known]).values
    assert by_row.counts["genuine_pairs"] + by_row.counts["impostor_pairs"] == (
        known.sum()
    )
    assert by_row.counts["listed_pairs_left_out"] == (~known).sum()
    assert any("of the listed pairs were left out" in w for w in by_row.warnings)


def test_a_listed_pair_that_is_excluded_does_not_count(make_protocol, make_set):
    items = make_set(
        "i", list("xxxyy"), np.random.default_rng(0).normal(size=(5, 3)), list("11212")
    )
    pairs = np.array([[0, 0], [0, 1], [0, 2], [0, 3], [1, 4], [3, 4], [3, 0]])

    def genuine(*exclude):
        protocol = make_protocol("verification/TAR@FAR=0.5", exclude=exclude)
        counts = measure(protocol, items, items, pairs=pairs).counts
        assert counts["impostor_pairs"] == 3
        return counts["genuine_pairs"]

    assert genuine() == 4
    assert genuine("self") == 3
    assert genuine("same_camera") == 2


def test_a_comparison_counts_and_warns(make_protocol, people):
    queries, gallery = people[:2]

    result = compare(
        make_protocol("retrieval/mAP"),
        old_queries=queries,
        old_gallery=gallery,
        new_queries=queries,
    )
    result = Comparison.from_json(result.to_json())

    assert result.counts["gallery_without_label"] == 40
    assert "40 items of the gallery have no label and were left out." in (
        result.warnings
    )


@pytest.mark.parametrize("exclude", [(), ("junk",)])
def test_where_nobody_is_labelled_nothing_is_measured(make_protocol, make_set, exclude):
    known, unknown = (
        make_set("i", labels, np.eye(2)) for labels in (["x", "y"], ["", ""])
    )
    protocol = make_protocol("retrieval/mAP", exclude=exclude)

    with pytest.raises(ValueError, match="`queries` should hold items with a label"):
        measure(protocol, unknown, known)
    with pytest.raises(ValueError, match="`gallery` should hold items with a label"):
        measure(protocol, known, unknown)
    with pytest.raises(ValueError, match="with a label"):
        prototypes_of(unknown)


def test_an_unknown_camera_is_that_of_nobody(make_protocol, make_set):
    query = make_set("q", ["x"], [[1, 0]], [""])
    gallery = make_set("g", list("xyx"), [[1, 0], [1, 0.1], [1, 0.2]], ["", "1", ""])
    protocol = make_protocol("retrieval/mAP", exclude=("same_camera",))

    # First and third of three places: (1 + 2 / 3) / 2.
    value = measure(protocol, query, gallery).values["retrieval/mAP"]
    assert value == pytest.approx(5 / 6)


def test_no_mean_holds_an_item_without_a_label(make_set):
    gallery = make_set("g", ["x", "", "x"], [[1, 0], [50, 50], [3, 0]])

    assert prototypes_of(gallery).embeddings.tolist() == [[2, 0]]


class TestTemplates:
    def pooled(self, rows, templates, labels=None, media=None, ids=None):
        count = len(rows)
        return pool_templates(
            EmbeddingSet(
                ids or [f"i{i}" for i in range(count)],
                labels or ["x"] * count,
                None,
                np.array(rows, float)[:, None],
                templates=templates,
                media=media,
            )
        )

    def test_an_item_without_a_template_is_one(self):
        found = self.pooled([1, 3, 8, 9], ["t", "t", "", ""])

        assert found.ids.tolist() == ["i2", "i3", "t"]
        assert found.embeddings.ravel().tolist() == [8, 9, 2]

    def test_an_item_without_a_medium_is_one(self):
        # A video of 1 and 3, and two pictures of 8 and 9.
        found = self.pooled([1, 3, 8, 9], ["t"] * 4, media=["v", "v", "", ""])

        assert found.embeddings.item() == pytest.approx((2 + 8 + 9) / 3)

    def test_an_item_without_a_label_is_in_no_template_that_has_one(self):
        found = self.pooled([1, 3, 80, 7], ["t", "t", "t", "u"], ["x", "x", "", ""])

        assert found.ids.tolist() == ["t", "u"]
        assert found.labels.tolist() == ["x", ""]
        assert found.embeddings.ravel().tolist() == [2, 7]

    def test_one_name_for_an_item_and_a_template_is_refused(self):
        with pytest.raises(ValueError, match="id 't' without a template"):
            self.pooled([1, 3], ["t", ""], ids=["a", "t"])

    def test_a_query_within_a_template_of_another_name_is_refused(
        self, make_protocol, make_set
    ):
        query = make_set("i", list("xy"), np.eye(2))
        gallery = EmbeddingSet(
            ["i00000", "g1", "g2"],
            list("xxy"),
            None,
            np.array([[1, 0], [0, 1], [0, 2]], float),
            templates=["t", "t", "u"],
        )

        with pytest.raises(ValueError, match=r"'i00000' in 'i00000'.*and in 't'"):
            measure(make_protocol("retrieval/mAP"), query, gallery)
        # Who knows that they are pictures of two makes may say so.
        measure(make_protocol("retrieval/mAP", exclude=()), query, gallery)


def test_a_backfill_embeds_them_too_but_nobody_finds_them(make_protocol, make_backfill):
    backfill = make_backfill()
    metrics = ("retrieval/mAP", "verification/TAR@FAR=0.2")
    hidden = np.arange(70) % 4 == 1
    unasked = np.arange(40) % 5 == 0
    protocol = make_protocol(*metrics, distance="l2")

    curve = backfilling_curve(
        without_labels(backfill["old"], hidden),
        without_labels(backfill["new"], hidden),
        backfill["order"],
        queries=without_labels(backfill["queries"], unasked),
        metrics=metrics,
    )

    assert curve.items == 70
    assert curve.counts == {"queries_without_label": 8, "gallery_without_label": 18}
    queries = backfill["queries"].take(~unasked)
    for cutoff in range(71):
        rows = backfill["old"].embeddings.copy()
        moved = backfill["order"][:cutoff]
        rows[moved] = backfill["new"].embeddings[moved]
        old = backfill["old"]
        mixed = EmbeddingSet(old.ids, old.labels, None, rows).take(~hidden)
        expected = measure(protocol, queries, mixed).values
        for metric in metrics:
            assert curve.values[metric][cutoff] == pytest.approx(expected[metric])


def test_junk_takes_no_part_in_a_backfill(make_backfill):
    backfill = make_backfill()
    old, new = backfill["old"], backfill["new"]
    junk = [
        EmbeddingSet(
            side.ids,
            np.where(np.arange(70) % 4 == 1, "-1", side.labels),
            None,
            side.embeddings,
        )
        for side in (old, new)
    ]
    unknown = [without_labels(side, np.arange(70) % 4 == 1) for side in (old, new)]

    def curve(sides, *exclude):
        return backfilling_curve(
            *sides, backfill["order"], queries=backfill["queries"], exclude=exclude
        ).values["retrieval/mAP"]

    assert (curve(junk, "self", "junk") == curve(unknown, "self")).all()
    with pytest.raises(ValueError, match="`exclude` should be of"):
        curve(junk, "selves")


def test_groups_are_of_those_whose_group_is_known(make_protocol, people):
    queries, gallery = people[:2]
    protocol = make_protocol("retrieval/mAP")
    groups = np.where(np.arange(108) < 30, "", queries.cameras)

    found = measure_groups(protocol, queries, gallery, groups)

    assert sorted(found.groups) == ["camera 0", "camera 1", "camera 2"]
    assert found.queries_without_group == 30
    mated = queries.take(np.isin(queries.labels, [*gallery.labels, ""]))
    by_label = measure_groups(protocol, mated, gallery, mated.labels)
    assert "" not in by_label.groups
    with pytest.raises(ValueError, match="for some queries"):
        measure_groups(protocol, queries, gallery, np.full(108, ""))


def test_the_strict_criterion_asks_nothing_of_them(make_set):
    generator = np.random.default_rng(0)
    labels = np.array(list("xyz" * 10))
    rows = generator.normal(size=(2, 30, 4))
    hidden = np.arange(30) % 4 == 2
    whole = [make_set("i", labels, side) for side in rows]

    found = strict_criterion(*(without_labels(side, hidden) for side in whole))

    expected = strict_criterion(*(side.take(~hidden) for side in whole))
    assert (found.different, found.same) == (expected.different, expected.same)
    assert found.items_without_label == hidden.sum()


def test_a_rank_merge_leaves_them_out(make_protocol, people, make_people):
    queries, gallery, asked, stored = people
    protocol = make_protocol("retrieval/mAP")

    found = measure_rank_merge(
        protocol,
        old_queries=queries,
        old_gallery=gallery,
        new_queries=queries,
        new_gallery=gallery,
    )

    assert found.values == measure(protocol, asked, stored).values
    assert found.counts["queries_without_label"] == 27
    assert len(found.warnings) == 2
    pooled = EmbeddingSet(
        gallery.ids, gallery.labels, None, gallery.embeddings, templates=gallery.ids
    )
    with pytest.raises(ValueError, match="`old_gallery` should be without templates"):
        measure_rank_merge(
            protocol,
            old_queries=queries,
            old_gallery=pooled,
            new_queries=queries,
            new_gallery=gallery,
        )
