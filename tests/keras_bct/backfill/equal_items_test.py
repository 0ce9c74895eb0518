"""Equal items wait in the gallery's order, however a gallery is cut: no bit differs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bct.adapters.embedding_rows import BLOCK_ROWS
from keras_bct.backfill import (
    UNCERTAINTIES,
    ClassCentres,
    distance_to_class_mean,
    distance_to_new,
    highest_first,
    neighbourhood_distance,
    predicted_variance,
    uncertainty,
)


def classes(rows):
    """Seven embeddings of no item."""
    return np.random.default_rng(7).normal(size=(7, rows.shape[1]))


def by_centres(kind):
    return lambda rows: uncertainty(rows, classes(rows), kind)


def by_mean(distance):
    def priority(rows):
        centres = ClassCentres(("only",), classes(rows)[:1])
        labels = ["only"] * len(rows)
        return distance_to_class_mean(rows, labels, centres, distance=distance)

    return priority


# What is known of an item by itself, so that a gallery can come in blocks.
STREAMED = {
    **{kind: by_centres(kind) for kind in UNCERTAINTIES},
    "class mean, l2": by_mean("l2"),
    "class mean, cosine": by_mean("cosine"),
    "new embedding": lambda rows: distance_to_new(rows, rows[:, ::-1]),
    "variance": predicted_variance,
}


def sparse(distance, references):
    return lambda rows: neighbourhood_distance(
        rows, neighbours=3, references=references, distance=distance
    )


ALL = STREAMED | {
    f"neighbourhood, {distance}, {name}": sparse(distance, references)
    for distance in ("l2", "cosine")
    for name, references in (("all", 10_000), ("sampled", 5))
}


@pytest.mark.parametrize("priority", ALL.values(), ids=ALL)
@pytest.mark.parametrize("size", [3, 64, 129])
def test_a_gallery_of_one_row_repeated_stays_in_its_order(priority, size):
    row = np.random.default_rng(0).normal(size=size).astype(np.float32)

    found = priority(np.tile(row, (BLOCK_ROWS + 1, 1)))

    assert len(np.unique(found)) == 1
    assert highest_first(found).tolist() == list(range(BLOCK_ROWS + 1))


@st.composite
def galleries(draw):
    """Gives 6 to 40 items of a few rows, in either memory order, and which is which."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = draw(st.integers(1, 8))
    dtype, far = draw(st.sampled_from([("f4", 3), ("f8", 3), ("f8", 250)]))
    scale = 10.0 ** draw(st.integers(-far, far))
    rows = scale * generator.normal(size=(kinds, draw(st.integers(2, 70))))
    which = draw(st.lists(st.integers(0, kinds - 1), min_size=6, max_size=40))
    rows = rows.astype(dtype)
    return np.asarray(rows[which], order=draw(st.sampled_from("CF"))), np.array(which)


@pytest.mark.parametrize("priority", ALL.values(), ids=ALL)
@given(gallery=galleries())
@settings(max_examples=40)
def test_equal_items_are_equally_urgent_wherever_they_stand(priority, gallery):
    rows, which = gallery

    found = priority(rows)

    for kind in set(which):
        assert len(np.unique(found[which == kind])) == 1


@pytest.mark.parametrize("priority", STREAMED.values(), ids=STREAMED)
@given(gallery=galleries(), size=st.integers(1, 40))
@settings(max_examples=40)
def test_blocks_get_what_the_whole_gallery_gets(priority, gallery, size):
    rows, _ = gallery

    blocks = [priority(rows[i : i + size]) for i in range(0, len(rows), size)]

    np.testing.assert_array_equal(np.concatenate(blocks), priority(rows))


@given(gallery=galleries(), size=st.integers(1, 40), classes=st.integers(1, 4))
def test_centres_are_the_same_however_blocks_are_cut(gallery, size, classes):
    rows, _ = gallery
    labels = (np.arange(len(rows)) ** 2 % classes).astype(str)

    blocks = ClassCentres.gather(
        (rows[i : i + size], labels[i : i + size]) for i in range(0, len(rows), size)
    )

    whole = ClassCentres.gather([(rows, labels)])
    np.testing.assert_array_equal(blocks.centres, whole.centres)


@pytest.mark.parametrize("priority", ALL.values(), ids=ALL)
def test_a_longer_gallery_has_one_priority_for_each_row_repeated(priority):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(40, 64)).astype(np.float32)
    which = generator.integers(0, 40, 2 * BLOCK_ROWS + 3)

    found = priority(rows[which])

    assert len({*zip(which.tolist(), found.tolist(), strict=True)}) == 40
