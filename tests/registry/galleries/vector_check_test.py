"""Vectors are compared with what their version makes of the pictures."""

import numpy as np
import pytest

from registry import InvalidGalleryError, UsageError
from registry.galleries.vector_check import refuse_other_vectors, sample_rows

RNG = np.random.default_rng(0)
IDS = [f"row-{n}" for n in range(20)]
MADE = RNG.normal(size=(20, 32)).astype(np.float32)
# As after a ReLU: all of them point nearly the same way.
ALIKE = (10 + MADE).astype(np.float32)


def compare(vectors, embeddings=MADE, distance="l2", ids=IDS):
    refuse_other_vectors(
        ids, np.asarray(vectors), embeddings, version="toys/1", distance=distance
    )


@pytest.mark.parametrize("made", [MADE, ALIKE], ids=["spread", "alike"])
@pytest.mark.parametrize(
    "as_stored",
    [
        lambda made: made,
        lambda made: made.astype(np.float16),
        lambda made: made + 0.05 * RNG.normal(size=made.shape),
        lambda made: made[:, :16],
    ],
    ids=["as they are", "as float16", "by another decoder", "first components"],
)
def test_its_own_vectors_are_taken(made, as_stored):
    compare(as_stored(made), made)


@pytest.mark.parametrize("made", [MADE, ALIKE], ids=["spread", "alike"])
@pytest.mark.parametrize(
    "as_stored",
    [
        lambda made: made[::-1],
        lambda made: made.mean() + RNG.normal(size=made.shape),
        lambda made: np.repeat(made.mean(axis=0)[None], 20, axis=0),
        lambda made: 2 * made,
        lambda made: np.where(np.arange(20)[:, None] == 7, made[8], made),
    ],
    ids=["other pictures'", "another model's", "all the same", "scaled", "one of them"],
)
def test_others_are_refused(made, as_stored):
    with pytest.raises(InvalidGalleryError, match=r"--unchecked.*Nothing was added"):
        compare(as_stored(made), made)


def test_the_wrong_ones_are_named():
    vectors = MADE.copy()
    vectors[[3, 5]] = MADE[[5, 3]]
    with pytest.raises(InvalidGalleryError, match=r"2 of 20.*\['row-3', 'row-5'\]"):
        compare(vectors)


def test_lengths_do_not_matter_for_cosine():
    unit = MADE / np.linalg.norm(MADE, axis=1, keepdims=True)
    compare(unit, distance="cosine")
    with pytest.raises(InvalidGalleryError):
        compare(unit, distance="inner_product")


def test_one_vector_is_compared_by_its_length():
    compare(MADE[:1] * 1.01, MADE[:1], ids=IDS[:1])
    with pytest.raises(InvalidGalleryError):
        compare(MADE[1:2], MADE[:1], ids=IDS[:1])


def test_a_sample_takes_what_has_a_picture():
    pictures = [f"row-{n}" for n in range(500, 0, -2)]
    rows, shown = sample_rows([f"row-{n}" for n in range(1000)], pictures)
    assert len(rows) == len(set(rows)) == 64
    assert [f"row-{row}" for row in rows] == [pictures[place] for place in shown]
    again = sample_rows([f"row-{n}" for n in range(1000)], pictures)
    assert again == (rows, shown)


def test_all_are_compared_where_they_are_few():
    assert sample_rows(["a", "b"], ["b", "c", "a"]) == ([0, 1], [2, 0])


def test_too_few_pictures_are_refused_with_examples_of_the_names():
    with pytest.raises(UsageError, match=r"at least 16 of the 20.*'row-0'.*'other-0'"):
        sample_rows(IDS, [f"other-{n}" for n in range(30)])
    with pytest.raises(UsageError, match="Received: 15 of 15"):
        sample_rows(IDS, IDS[:15])
