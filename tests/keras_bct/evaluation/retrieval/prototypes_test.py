"""Prototype classification, with every mean computed anew by NumPy in float64."""

import numpy as np
import pytest

from keras_bct.evaluation import EmbeddingSet, measure

ACCURACY = "prototype/accuracy"


def test_a_query_takes_the_nearest_mean(make_protocol, make_set):
    gallery = make_set("g", list("xxyy"), [[0, 0], [0, 2], [4, 0], [4, 2]])
    queries = make_set("q", list("xxy"), [[0, 1], [3, 1], [4, 1]])
    protocol = make_protocol("prototype/accuracy", distance="l2")

    result = measure(protocol, queries, gallery)

    assert result.values["prototype/accuracy"] == pytest.approx(2 / 3)


def test_two_equal_means_share(make_protocol, make_set):
    gallery = make_set("g", list("xy"), [[1, 1], [1, 1]])
    queries = make_set("q", list("x"), [[1, 0]])

    result = measure(make_protocol("prototype/accuracy"), queries, gallery)

    assert result.values["prototype/accuracy"] == 0.5


def by_hand(queries, gallery, excluded, distance="cosine"):
    """The accuracy of each query; NaN without an item of its class that counts."""

    def score(query, mean):
        if distance == "l2":
            return -((query - mean) ** 2).sum()
        return query @ mean / np.linalg.norm(query) / np.linalg.norm(mean)

    right = []
    for i, query in enumerate(queries.embeddings.astype(np.float64)):
        scores = {}
        for label in np.unique(gallery.labels):
            rows = (gallery.labels == label) & ~excluded[i]
            if rows.any():
                mean = gallery.embeddings[rows].mean(axis=0, dtype=np.float64)
                scores[label] = score(query, mean)
        own = queries.labels[i]
        best = max(scores, key=scores.get)
        right.append(float(best == own) if own in scores else np.nan)
    return np.array(right)


def noise(items, classes, seed=0, size=8):
    generator = np.random.default_rng(seed)
    return EmbeddingSet(
        [f"i{i:03}" for i in range(items)],
        [f"class {i % classes:02}" for i in range(items)],
        [f"camera {c}" for c in generator.integers(0, 3, items)],
        generator.normal(size=(items, size)),
    )


def test_pure_noise_is_not_recognised_by_means_that_contain_it(make_protocol):
    items = noise(200, 100, size=64)

    result = measure(make_protocol(ACCURACY), items, items)

    same = np.eye(200, dtype=bool)
    expected = by_hand(items, items, same)
    assert result.prototype.per_query[ACCURACY].tolist() == expected.tolist()
    assert result.values[ACCURACY] == pytest.approx(expected.mean())
    assert result.values[ACCURACY] < 0.05
    kept = measure(make_protocol(ACCURACY, exclude=()), items, items)
    assert kept.values[ACCURACY] == by_hand(items, items, ~same & same).mean() > 0.5


@pytest.mark.parametrize("distance", ["cosine", "l2"])
@pytest.mark.parametrize("exclude", [("self",), ("same_camera",)])
def test_what_is_excluded_is_in_no_mean(make_protocol, distance, exclude):
    gallery = noise(120, 40)
    # Some queries are gallery items, some are not, and some have no class there.
    others = noise(90, 45, seed=1)
    queries = EmbeddingSet(
        [*gallery.ids[:50], *[f"q{i}" for i in range(90)]],
        [*gallery.labels[:50], *others.labels],
        [*gallery.cameras[:50], *others.cameras],
        np.vstack([gallery.embeddings[:50], others.embeddings]),
    )
    same_label = queries.labels[:, None] == gallery.labels
    excluded = (
        queries.ids[:, None] == gallery.ids
        if exclude == ("self",)
        else same_label & (queries.cameras[:, None] == gallery.cameras)
    )

    result = measure(
        make_protocol(ACCURACY, distance=distance, exclude=exclude), queries, gallery
    )

    expected = by_hand(queries, gallery, excluded, distance)
    found = result.prototype.per_query[ACCURACY]
    np.testing.assert_array_equal(found, expected)
    assert result.values[ACCURACY] == pytest.approx(np.nanmean(expected))


def test_a_query_that_is_alone_in_its_class_is_left_out(make_protocol, make_set):
    items = make_set("i", list("xxy"), [[1, 0], [1, 0.1], [0, 1]])

    result = measure(make_protocol(ACCURACY), items, items)

    assert result.prototype.per_query[ACCURACY].tolist()[:2] == [1, 1]
    assert np.isnan(result.prototype.per_query[ACCURACY][2])
    assert result.counts["queries_without_relevant"] == 1


def test_nobody_but_the_queries_themselves_is_refused(make_protocol, make_set):
    items = make_set("i", list("xy"), [[1, 0], [0, 1]])

    with pytest.raises(ValueError, match=r"not excluded.*none of them"):
        measure(make_protocol(ACCURACY), items, items)


def test_a_mean_without_direction_is_named(make_protocol, make_set):
    items = make_set("i", list("xxxy"), [[2, 1], [1, 0], [-1, 0], [0, 1]])

    with pytest.raises(ValueError, match="'x without i00000'"):
        measure(make_protocol(ACCURACY), items, items)
