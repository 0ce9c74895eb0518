import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_curve

from keras_bct.evaluation import EmbeddingSet, Execution, RankCounts, measure

DISTANCES = ["cosine", "l2", "inner_product"]


def by_id(left, right):
    return left.ids[:, None] == right.ids[None]


@pytest.mark.parametrize("distance", DISTANCES)
class TestAgainstFloat64:
    """The values from embeddings are those of scikit-learn on float64 scores."""

    def test_mean_average_precision(
        self, make_protocol, make_people, reference_scores, distance
    ):
        queries, gallery = make_people()
        scores = reference_scores(distance, queries, gallery)
        relevant = queries.labels[:, None] == gallery.labels
        expected = [
            average_precision_score(r, s)
            for r, s in zip(relevant, scores, strict=True)
            if r.any()
        ]

        result = measure(
            make_protocol("retrieval/mAP", distance=distance), queries, gallery
        )

        assert result.values["retrieval/mAP"] == pytest.approx(
            np.mean(expected), abs=1e-9
        )
        assert result.counts["queries_without_relevant"] == 18

    @pytest.mark.parametrize("far", [0.0001, 0.001, 0.01, 0.3])
    def test_acceptance_at_a_false_accept_rate(
        self, make_protocol, make_people, reference_scores, distance, far
    ):
        queries, gallery = make_people()
        scores = reference_scores(distance, queries, gallery)
        relevant = queries.labels[:, None] == gallery.labels
        false, true, _ = roc_curve(
            relevant.ravel(), scores.ravel(), drop_intermediate=False
        )
        metric = f"verification/TAR@FAR={far}"

        result = measure(make_protocol(metric, distance=distance), queries, gallery)

        assert result.values[metric] == true[false <= far][-1]

    @pytest.mark.parametrize("rate", [0.1, 0.5])
    def test_open_set_identification(
        self, make_protocol, make_people, reference_scores, distance, rate
    ):
        queries, gallery = make_people()
        scores = reference_scores(distance, queries, gallery)
        relevant = queries.labels[:, None] == gallery.labels
        mated = relevant.any(axis=1)
        strangers = -np.sort(-scores[~mated].max(axis=1))
        threshold = strangers[int(rate * len(strangers))]
        mate = np.where(relevant, scores, -np.inf).max(axis=1)[mated]
        first = scores[mated].max(axis=1) == mate
        name = f"identification/TPIR@FPIR={rate}"

        result = measure(
            make_protocol(name, f"{name},rank=1", distance=distance), queries, gallery
        )

        assert result.values[name] == np.mean(mate > threshold)
        assert result.values[f"{name},rank=1"] == np.mean((mate > threshold) & first)
        assert result.counts["mated_probes"] == mated.sum()
        assert result.counts["non_mated_probes"] == (~mated).sum()


@st.composite
def tied_sides(draw):
    """Sets whose scores tie often: few distinct rows of small whole numbers."""
    size = draw(st.integers(1, 4))
    rows = st.lists(
        st.lists(st.integers(-1, 1), min_size=size, max_size=size).filter(any),
        min_size=1,
        max_size=25,
    )
    sides = []
    for prefix in "qg":
        values = draw(rows)
        labels = draw(
            st.lists(st.sampled_from("xyz"), min_size=len(values), max_size=len(values))
        )
        sides.append((prefix, labels, values))
    return sides


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    tied_sides(),
    st.sampled_from(DISTANCES),
    st.integers(1, 30),
    st.randoms(use_true_random=False),
)
def test_ties_are_exact_whatever_the_order_and_the_blocks(
    make_protocol, make_set, reference_scores, sides, distance, block_rows, random
):
    queries, gallery = (make_set(*side) for side in sides)
    relevant = queries.labels[:, None] == gallery.labels
    if not relevant.any():
        return
    # Rounded: 1 / sqrt(2) twice over is the same cosine however it was computed.
    scores = reference_scores(distance, queries, gallery).round(12)
    counts = RankCounts.of_scores(scores, relevant)
    metrics = {
        "retrieval/mAP": counts.average_precision(),
        "retrieval/CMC@1": counts.match_at(1),
        "retrieval/precision@3": counts.precision_at(3),
        "retrieval/nDCG": counts.discounted_gain(None),
    }
    order = list(range(len(gallery)))
    random.shuffle(order)
    protocol = make_protocol(*metrics, distance=distance)

    result = measure(
        protocol,
        queries,
        gallery.take(np.array(order)),
        execution=Execution(block_rows=block_rows, workers=2),
    )

    # Cosines of whole numbers may differ in the last bit where the formula ties.
    if distance != "cosine":
        for name, expected in metrics.items():
            assert result.values[name] == pytest.approx(np.nanmean(expected), abs=1e-12)
    again = measure(protocol, queries, gallery)
    for name in metrics:
        assert result.values[name] == pytest.approx(again.values[name], abs=1e-12)


def test_equal_rows_tie_at_any_place(make_protocol, make_set):
    """A product's rounding differs by place; equal rows must tie all the same."""
    generator = np.random.default_rng(0)
    row = generator.normal(size=37)
    others = generator.normal(size=(400, 37))
    rows = np.concatenate([others[:200], [row, row], others[200:]])
    labels = ["other"] * 200 + ["mate", "other"] + ["other"] * 200
    query = make_set("q", ["mate"], [row])

    result = measure(
        make_protocol("retrieval/CMC@1", "retrieval/mAP"),
        query,
        make_set("g", labels, rows),
    )

    assert result.values == {"retrieval/CMC@1": 0.5, "retrieval/mAP": 0.5}


def test_the_execution_changes_nothing(make_protocol, make_people):
    queries, gallery = make_people()
    protocol = make_protocol(
        "retrieval/mAP",
        "verification/TAR@FAR=0.01",
        "verification/EER",
        "identification/TPIR@FPIR=0.1",
    )
    expected = measure(protocol, queries, gallery).values

    for execution in (
        Execution(workers=1, block_rows=1, progress=False),
        Execution(workers=3, block_rows=17),
        Execution(device="cpu"),
    ):
        assert measure(protocol, queries, gallery, execution=execution).values == (
            expected
        )


def test_first_components_are_cut_before_rows_are_normalised(
    make_protocol, make_people, make_set, reference_scores
):
    queries, gallery = make_people()
    wide = EmbeddingSet(
        queries.ids,
        queries.labels,
        None,
        np.hstack([queries.embeddings, 100 * queries.embeddings[:, :3]]),
    )
    protocol = make_protocol("retrieval/mAP")
    expected = measure(protocol, queries, gallery).values

    cut = make_protocol("retrieval/mAP", first_components=queries.embedding_size)
    assert measure(cut, wide, gallery).values == expected
    with pytest.raises(ValueError, match=r"`first_components`.*19 and 16 components"):
        measure(protocol, wide, gallery)
    with pytest.raises(ValueError, match="at most the 16 components of `gallery`"):
        measure(make_protocol("retrieval/mAP", first_components=17), wide, gallery)


def test_memory_mapped_rows_give_the_same(make_protocol, make_people, tmp_path):
    queries, gallery = make_people()
    np.save(tmp_path / "gallery.npy", gallery.embeddings)
    mapped = EmbeddingSet(
        gallery.ids,
        gallery.labels,
        None,
        np.load(tmp_path / "gallery.npy", mmap_mode="r"),
    )
    protocol = make_protocol("retrieval/mAP", "verification/TAR@FAR=0.01")

    assert (
        measure(protocol, queries, mapped).values
        == measure(protocol, queries, gallery).values
    )


class TestExcludedPairs:
    def test_an_item_does_not_find_itself(self, make_protocol, make_set):
        items = make_set("i", ["x", "x", "y"], [[1, 0], [0, 1], [1, 0.1]])
        metric = "retrieval/CMC@1"

        # Itself left out, row 0 finds y, row 1 finds y, row 2 has no mate.
        assert measure(make_protocol(metric), items, items).values[metric] == 0
        kept = make_protocol(metric, exclude=())
        assert measure(kept, items, items).values[metric] == 1

    def test_one_label_and_one_camera(self, make_protocol, make_set):
        query = make_set("q", ["x"], [[1, 0]], ["1"])
        gallery = make_set(
            "g",
            ["x", "y", "x", "y"],
            [[1, 0], [1, 0.1], [1, 0.2], [1, 0.3]],
            ["1", "1", "2", "2"],
        )
        protocol = make_protocol("retrieval/mAP", exclude=("same_camera",))

        # The nearest is of one camera and gone; of the rest, the mate is second.
        assert measure(protocol, query, gallery).values == {"retrieval/mAP": 0.5}

    def test_junk_is_neither_for_nor_against(self, make_protocol, make_set):
        query = make_set("q", ["x", "-1"], [[1, 0], [0, 1]])
        gallery = make_set("g", ["-1", "0", "x"], [[1, 0], [1, 0.2], [1, 0.1]])
        protocol = make_protocol("retrieval/mAP", exclude=("junk",))
        result = measure(protocol, query, gallery)

        assert result.values == {"retrieval/mAP": 1}
        assert result.counts["queries"] == 1
        assert result.counts["gallery"] == 2

    def test_a_probe_whose_mates_are_all_excluded_is_neither(
        self, make_protocol, make_set
    ):
        queries = make_set(
            "q", ["x", "y", "z"], [[1, 0], [0, 1], [1, 1]], ["1", "1", "1"]
        )
        gallery = make_set("g", ["x", "y"], [[1, 0], [0, 1]], ["1", "2"])
        result = measure(
            make_protocol("identification/rank@1", exclude=("same_camera",)),
            queries,
            gallery,
        )

        assert result.counts["mated_probes"] == 1
        assert result.counts["non_mated_probes"] == 1


class TestRefused:
    def test_a_zero_vector_with_cosine_is_named(self, make_protocol, make_set):
        queries = make_set("q", list("xy"), [[1, 0], [0, 0]])
        with pytest.raises(ValueError, match=r"`queries`.*zero vector.*'q00001'"):
            measure(make_protocol("retrieval/mAP"), queries, queries)
        measure(
            make_protocol("retrieval/mAP", distance="l2", exclude=()), queries, queries
        )

    def test_a_camera_rule_without_cameras(self, make_protocol, make_set):
        queries = make_set("q", list("xx"), np.eye(2))
        with pytest.raises(ValueError, match="needs cameras on both sides"):
            measure(
                make_protocol("retrieval/mAP", exclude=("same_camera",)),
                queries,
                queries,
            )

    def test_no_query_with_a_mate(self, make_protocol, make_set):
        with pytest.raises(ValueError, match="at least one whose label"):
            measure(
                make_protocol("retrieval/mAP"),
                make_set("q", list("x"), [[1, 0]]),
                make_set("g", list("y"), [[1, 0]]),
            )

    def test_identification_without_strangers(self, make_protocol, make_set):
        items = make_set("q", list("xy"), np.eye(2))
        with pytest.raises(ValueError, match=r"non-mated probes.*2 queries, all"):
            measure(
                make_protocol("identification/TPIR@FPIR=0.1", exclude=()), items, items
            )

    def test_verification_of_one_label(self, make_protocol, make_set):
        items = make_set("q", list("xx"), np.eye(2))
        with pytest.raises(ValueError, match="impostor pairs"):
            measure(make_protocol("verification/TAR@FAR=0.1"), items, items)

    def test_one_id_with_two_labels(self, make_protocol):
        one = EmbeddingSet(["a", "b"], ["x", "y"], None, np.eye(2))
        other = EmbeddingSet(["a", "c"], ["y", "x"], None, np.eye(2))
        with pytest.raises(ValueError, match="'a' is 'x' in `queries` and 'y'"):
            measure(make_protocol("retrieval/mAP"), one, other)

    def test_only_junk(self, make_protocol, make_set):
        with pytest.raises(ValueError, match="not junk"):
            measure(
                make_protocol("retrieval/mAP", exclude=("junk",)),
                make_set("q", ["-1"], [[1, 0]]),
                make_set("g", ["x"], [[1, 0]]),
            )

    @pytest.mark.parametrize(
        "options", [{"workers": 0}, {"block_rows": 0}, {"device": "tpu"}]
    )
    def test_an_execution_that_cannot_be(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            Execution(**options)


def test_a_rate_below_what_the_negatives_resolve_is_warned_of(
    make_protocol, make_people
):
    queries, gallery = make_people()
    result = measure(
        make_protocol(
            "verification/TAR@FAR=1e-6",
            "verification/TAR@FAR=0.1",
            "identification/TPIR@FPIR=0.01",
        ),
        queries,
        gallery,
    )

    assert len(result.warnings) == 2
    # 36 people with 3 queries and 30 with 4 items: 108 * 120 - 30 * 12 pairs.
    assert "12600 impostor pairs" in result.warnings[0]
    assert "18 non-mated probes" in result.warnings[1]


def test_an_error_in_a_thread_is_raised_and_leaves_no_thread(
    make_protocol, make_people, monkeypatch
):
    import threading

    from keras_bct.evaluation.engine.ranking_pass import RankingPass

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RankingPass, "close", fail)
    before = threading.active_count()

    with pytest.raises(KeyboardInterrupt):
        measure(make_protocol("retrieval/mAP"), *make_people())
    assert threading.active_count() == before
