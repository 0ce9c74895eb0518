import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bct.evaluation import (
    EmbeddingSet,
    Execution,
    Nearest,
    Protocol,
    RankCounts,
    Source,
    compare_measurements,
    measure,
    measure_rank_merge,
    merge_nearest,
    nearest,
)

QUIET = Execution(progress=False)
SIDE = Source("embeddings", "none")
METRICS = ("retrieval/mAP", "retrieval/CMC@1")


def protocol(distance="cosine", **options):
    return Protocol("merge", SIDE, SIDE, METRICS, distance=distance, **options)


def items(prefix, count, size, seed):
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % 7
    centres = np.random.default_rng(size).normal(size=(7, size))
    rows = centres[labels] + 1.2 * generator.normal(size=(count, size)) + 0.3
    ids = np.char.add(prefix, np.arange(count).astype(str))
    return EmbeddingSet(ids, labels.astype(str), None, rows)


@pytest.fixture
def sides():
    """Queries and gallery by an old version of 4 and a new one of 6 components."""
    return {
        "old_queries": items("q", 90, 4, 0),
        "old_gallery": items("g", 700, 4, 1),
        "new_queries": items("q", 90, 6, 2),
        "new_gallery": items("g", 700, 6, 3),
    }


def distances(distance, queries, gallery):
    left, right = (side.embeddings.astype(float) for side in (queries, gallery))
    if distance == "cosine":
        left, right = (
            rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (left, right)
        )
        return 1 - left @ right.T
    return np.linalg.norm(left[:, None] - right[None], axis=2)


@pytest.mark.parametrize("distance", ["cosine", "l2"])
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_is_the_metric_of_the_smaller_distances(sides, distance, share):
    kept = np.random.default_rng(4).permutation(700)[: int(700 * share)]
    sides["new_gallery"] = sides["new_gallery"].take(kept)
    old = distances(distance, sides["old_queries"], sides["old_gallery"])
    new = np.full_like(old, np.inf)
    new[:, kept] = distances(distance, sides["new_queries"], sides["new_gallery"])
    relevant = sides["old_queries"].labels[:, None] == sides["old_gallery"].labels[None]
    counts = RankCounts.of_scores(-np.minimum(old, new), relevant)

    found = measure_rank_merge(protocol(distance), **sides, execution=QUIET)

    assert (new < old).any() and (old < new).any()
    assert found.values["retrieval/mAP"] == pytest.approx(
        counts.average_precision().mean(), abs=1e-9
    )
    assert found.values["retrieval/CMC@1"] == pytest.approx(
        counts.match_at(1).mean(), abs=1e-9
    )


def test_two_spaces_that_are_one_are_one(sides):
    old = {name: sides[name] for name in ("old_queries", "old_gallery")}
    twice = {name.replace("old", "new"): side for name, side in old.items()}

    found = measure_rank_merge(protocol(), **old, **twice, execution=QUIET)

    assert found.values == measure(protocol(), *old.values(), execution=QUIET).values


def test_is_a_row_beside_the_others(sides):
    old_old = measure(protocol(), sides["old_queries"], sides["old_gallery"])
    new_new = measure(protocol(), sides["new_queries"], sides["new_gallery"])
    merged = measure_rank_merge(protocol(), **sides, execution=QUIET)

    row = compare_measurements(
        protocol(), old_old=old_old, new_old=merged, new_new=new_new
    )["retrieval/mAP"]

    assert row.difference == pytest.approx(
        merged.values["retrieval/mAP"] - old_old.values["retrieval/mAP"]
    )
    low, high = row.difference_interval(0.95)
    assert low < row.difference < high


def test_block_size_does_not_matter(sides):
    results = [
        measure_rank_merge(
            protocol(), **sides, execution=Execution(block_rows=size, progress=False)
        ).values
        for size in (1, 7, 256)
    ]

    assert results[0] == results[1] == results[2]


def test_a_query_does_not_find_itself(sides):
    gallery = {
        "old_queries": sides["old_gallery"],
        "old_gallery": sides["old_gallery"],
        "new_queries": sides["new_gallery"],
        "new_gallery": sides["new_gallery"],
    }

    excluded = measure_rank_merge(protocol(), **gallery, execution=QUIET)
    included = measure_rank_merge(protocol(exclude=()), **gallery, execution=QUIET)

    assert included.values["retrieval/CMC@1"] == 1
    assert excluded.values["retrieval/CMC@1"] < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"new_queries": items("x", 90, 6, 2)}, "`new_queries` should hold the items"),
        ({"new_gallery": items("x", 9, 6, 2)}, "`new_gallery` should hold items of"),
    ],
)
def test_other_items_are_refused(sides, change, message):
    with pytest.raises(ValueError, match=message):
        measure_rank_merge(protocol(), **(sides | change), execution=QUIET)


def test_other_tasks_are_refused(sides):
    asked = Protocol("merge", SIDE, SIDE, ("verification/TAR@FAR=0.1",))

    with pytest.raises(ValueError, match=r"retrieval alone.*verification/TAR"):
        measure_rank_merge(asked, **sides)


@given(
    seed=st.integers(0, 1000),
    neighbours=st.integers(1, 8),
    share=st.sampled_from([1.0, 0.5, 0.1]),
)
@settings(max_examples=25)
def test_merged_lists_are_the_list_of_the_merge(seed, neighbours, share):
    generator = np.random.default_rng(seed)
    # Whole numbers, so that distances tie often.
    old, new = generator.integers(0, 3, size=(2, 30, 2)).astype(float)
    queries = generator.integers(0, 3, size=(2, 4, 2)).astype(float)
    present = np.sort(generator.permutation(30)[: int(30 * share)])
    one = nearest(queries[0], old, neighbours, distance="l2", execution=QUIET)
    found = nearest(
        queries[1],
        new[present],
        min(neighbours, len(present)),
        distance="l2",
        execution=QUIET,
    )
    other = Nearest(present[found.items], found.distances)

    merged = merge_nearest(one, other)

    for i in range(4):
        smaller = np.linalg.norm(old - queries[0, i], axis=1)
        in_new = np.linalg.norm(new[present] - queries[1, i], axis=1)
        smaller[present] = np.minimum(smaller[present], in_new)
        expected = sorted(range(30), key=lambda item: (smaller[item], item))
        np.testing.assert_allclose(
            merged.distances[i], smaller[expected[:neighbours]], atol=1e-12
        )
        # Within a tie at the end either list may have been cut.
        inside = smaller[expected[:neighbours]] < smaller[expected[neighbours - 1]]
        assert (
            merged.items[i][inside].tolist()
            == np.array(expected)[:neighbours][inside].tolist()
        )


def test_lists_of_different_queries_are_refused():
    one = Nearest(np.zeros((2, 1), np.int64), np.zeros((2, 1)))

    with pytest.raises(ValueError, match="Received: 2 and 1"):
        merge_nearest(one, Nearest(one.items[:1], one.distances[:1]))
