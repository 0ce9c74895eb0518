import numpy as np
import pytest

from keras_bct.backfill import ClassCentres, distance_to_class_mean

ROWS = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 0.0], [2.0, 3.0], [10.0, 8.0]])
LABELS = ["ka", "ki", "ku", "ki", "ku"]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_centres_are_means_however_blocks_are_cut(size):
    centres = ClassCentres.gather(
        (ROWS[i : i + size], LABELS[i : i + size]) for i in range(0, 5, size)
    )

    assert centres.class_names == ("ka", "ki", "ku")
    assert centres.centres.tolist() == [[0.0, 0.0], [2.0, 1.5], [10.0, 4.0]]


def test_l2_is_the_distance_to_the_mean_of_the_items_class():
    centres = ClassCentres.gather([(ROWS, LABELS)])

    found = distance_to_class_mean(ROWS, LABELS, centres)

    assert found.tolist() == [0.0, 1.5, 4.0, 1.5, 4.0]


def test_cosine_ignores_lengths():
    rows = np.array([[4.0, 0.0], [0.0, 4.0], [9.0, 9.0]])
    centres = ClassCentres.gather([(rows, ["a", "a", "a"])])

    found = distance_to_class_mean(rows, ["a"] * 3, centres, distance="cosine")

    np.testing.assert_allclose(found, [1 - 0.5**0.5, 1 - 0.5**0.5, 0], atol=1e-12)


@pytest.mark.parametrize("label", ["aa", "kj", "zz"])
def test_a_class_without_a_centre_is_refused(label):
    centres = ClassCentres.gather([(ROWS, LABELS)])

    with pytest.raises(ValueError, match=f"Received: '{label}' and 0 more"):
        distance_to_class_mean(ROWS[:1], [label], centres)


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (ROWS, LABELS[:3], "class of each of 5 items"),
        (ROWS, [*LABELS[:4], None], "none in row 4"),
        (ROWS * np.nan, LABELS, "`embeddings` should be finite"),
        (np.empty((0, 2)), [], "at least one item"),
    ],
)
def test_what_has_no_centre_is_refused(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        ClassCentres.gather([(rows, labels)])
