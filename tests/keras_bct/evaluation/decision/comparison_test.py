import numpy as np
import pytest

from keras_bct.evaluation import (
    Comparison,
    EmbeddingSet,
    compare,
    compare_measurements,
    measure,
)

METRICS = (
    "retrieval/mAP",
    "verification/TAR@FAR=0.01",
    "identification/TPIR@FPIR=0.2",
)


@pytest.fixture
def versions(make_people):
    """Queries and galleries of an old, a better new and a best model."""
    old, new, best = (make_people(seed=0, noise=noise) for noise in (1.1, 0.9, 0.6))
    return {
        "old_queries": old[0],
        "old_gallery": old[1],
        "new_queries": new[0],
        "new_gallery": new[1],
        "paragon": best,
    }


def test_every_number_is_that_of_its_measurement(make_protocol, versions):
    protocol = make_protocol(*METRICS)
    result = compare(protocol, **versions)

    old_old = measure(protocol, versions["old_queries"], versions["old_gallery"])
    new_old = measure(protocol, versions["new_queries"], versions["old_gallery"])
    new_new = measure(protocol, versions["new_queries"], versions["new_gallery"])
    paragon = measure(protocol, *versions["paragon"])
    for metric in METRICS:
        numbers = result[metric]
        assert numbers.old_old == old_old.values[metric]
        assert numbers.new_old == new_old.values[metric]
        assert numbers.new_new == new_new.values[metric]
        assert numbers.paragon == paragon.values[metric]
        assert numbers.gain == pytest.approx(
            (numbers.new_old - numbers.old_old) / (numbers.paragon - numbers.old_old)
        )
        assert numbers.difference_replicates == pytest.approx(
            new_old.replicates(metric) - old_old.replicates(metric)
        )
        low, high = numbers.difference_interval(0.95)
        assert low < numbers.difference < high
        narrow_low, narrow_high = numbers.difference_interval(0.5)
        assert low < narrow_low < narrow_high < high
        assert numbers.gain_interval(0.95)[0] < numbers.gain
    assert result["retrieval/mAP"].identities == 30
    assert result["verification/TAR@FAR=0.01"].identities == 36


def test_the_difference_is_paired(make_protocol, versions):
    """Of two versions that agree on every query, the difference is exact."""
    versions["new_queries"] = versions["old_queries"]
    result = compare(make_protocol(*METRICS), **versions)

    for metric in METRICS:
        assert result[metric].difference_interval(0.95) == (0, 0)
        assert result[metric].negative_flips == 0
        assert result[metric].gain is None


def test_negative_flips_were_right_and_are_wrong(make_protocol, make_set):
    gallery = make_set("g", list("xy"), [[1, 0], [0, 1]])
    labels = list("xxxx")
    right, wrong = [1, 0.1], [0.1, 1]
    old = make_set("q", labels, [right, right, wrong, wrong])
    new = make_set("q", labels, [right, wrong, right, wrong])
    result = compare(
        make_protocol("retrieval/CMC@1"),
        old_queries=old,
        old_gallery=gallery,
        new_queries=new,
    )

    assert result.negative_flips == 0.25
    assert result["retrieval/CMC@1"].difference == 0


class TestGain:
    def test_none_without_a_paragon(self, make_protocol, versions):
        del versions["paragon"]
        metric = compare(make_protocol(*METRICS), **versions)["retrieval/mAP"]

        assert metric.gain is None
        assert metric.gain_interval(0.95) is None
        assert "no paragon" in metric.gain_undefined

    def test_none_where_the_paragon_is_no_better(self, make_protocol, versions):
        versions["paragon"] = versions["old_queries"], versions["old_gallery"]
        metric = compare(make_protocol(*METRICS), **versions)["retrieval/mAP"]

        assert metric.gain is None
        assert "paragon" in metric.gain_undefined

    def test_none_where_the_criterion_fails(self, make_protocol, versions):
        worse = versions | {
            "old_queries": versions["new_queries"],
            "new_queries": versions["old_queries"],
        }
        metric = compare(make_protocol(*METRICS), **worse)["retrieval/mAP"]

        assert metric.gain is None
        assert "not better than M(old, old)" in metric.gain_undefined


def test_wider_new_embeddings_count_whole_among_themselves(
    make_protocol, versions, make_people
):
    """M(new, old) takes the first K components, M(new, new) takes all of them."""

    def widen(items, seed):
        more = np.random.default_rng(seed).normal(size=(len(items), 8))
        rows = np.hstack([items.embeddings, more.astype(np.float32)])
        return EmbeddingSet(items.ids, items.labels, None, rows)

    new = widen(versions["new_queries"], 1), widen(versions["new_gallery"], 2)
    cut = make_protocol("retrieval/mAP", first_components=16)
    result = compare(
        cut,
        old_queries=versions["old_queries"],
        old_gallery=versions["old_gallery"],
        new_queries=new[0],
        new_gallery=new[1],
    )["retrieval/mAP"]
    narrow = compare(make_protocol("retrieval/mAP"), **versions)["retrieval/mAP"]
    whole = measure(make_protocol("retrieval/mAP"), *new)

    assert result.new_old == narrow.new_old
    assert result.new_new == whole.values["retrieval/mAP"]


def test_only_the_new_queries_search_what_an_adapter_makes_of_the_gallery(
    make_protocol, versions
):
    protocol = make_protocol(*METRICS)
    mapped = versions["new_gallery"]
    result = compare(protocol, **versions, searched=mapped)
    direct = compare(protocol, **versions)
    new_old = measure(protocol, versions["new_queries"], mapped)
    for metric in METRICS:
        numbers = result[metric]
        assert numbers.new_old == new_old.values[metric]
        assert numbers.new_old != direct[metric].new_old
        assert numbers.old_old == direct[metric].old_old
        assert numbers.new_new == direct[metric].new_new
        assert numbers.paragon == direct[metric].paragon


def test_a_new_model_that_is_its_own_paragon_is_measured_once(
    make_protocol, versions, monkeypatch
):
    asked = []

    def counted(protocol, queries, gallery):
        asked.append((queries, gallery))
        return measure(protocol, queries, gallery)

    monkeypatch.setattr("keras_bct.evaluation.decision.comparison.measure", counted)
    itself = versions["new_queries"], versions["new_gallery"]
    result = compare(make_protocol("retrieval/mAP"), **versions | {"paragon": itself})
    assert result["retrieval/mAP"].paragon == result["retrieval/mAP"].new_new
    assert len(asked) == 3


def test_json_gives_everything_back(make_protocol, versions):
    result = compare(make_protocol(*METRICS), **versions)
    again = Comparison.from_json(result.to_json())

    assert again.to_json() == result.to_json()
    assert again.gate_metrics == ("retrieval/mAP",)
    assert again.counts == result.counts
    for metric in METRICS:
        assert again[metric].gain == result[metric].gain
        np.testing.assert_array_equal(
            again[metric].difference_replicates, result[metric].difference_replicates
        )


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"metrics": {"x": {}}}'])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        Comparison.from_json(text)


def test_versions_must_hold_the_same_items(make_protocol, versions):
    protocol = make_protocol("retrieval/mAP")
    everyone = versions["new_queries"]
    backwards = np.arange(len(everyone))[::-1]
    with pytest.raises(ValueError, match=r"`new_queries`.*107 items, expected 108"):
        compare(
            protocol,
            **versions | {"new_queries": everyone.take(np.arange(107))},
        )
    with pytest.raises(ValueError, match=r"same order.*ids\[0\] = 'q00107'"):
        compare(protocol, **versions | {"new_queries": everyone.take(backwards)})
    with pytest.raises(ValueError, match="`new_gallery`"):
        compare(protocol, **versions | {"new_gallery": everyone})
    with pytest.raises(ValueError, match="`searched`"):
        compare(protocol, **versions | {"searched": everyone})


def test_measurements_must_count_the_same_items(make_protocol, versions):
    protocol = make_protocol("retrieval/mAP")
    one = measure(protocol, versions["old_queries"], versions["old_gallery"])
    other = measure(
        protocol,
        versions["new_queries"].take(np.arange(20)),
        versions["old_gallery"],
    )
    with pytest.raises(ValueError, match="`new_old`"):
        compare_measurements(protocol, old_old=one, new_old=other)
