"""The unit of embeddings is that of the distances, as far as float64 goes."""

import numpy as np
import pytest

from keras_bct.backfill import (
    UNCERTAINTIES,
    ClassCentres,
    distance_to_class_mean,
    distance_to_new,
    neighbourhood_distance,
    uncertainty,
)

ROWS = np.random.default_rng(0).normal(size=(300, 4)) + 5
LABELS = ["alone", *(np.arange(299) % 7).astype(str)]


def class_mean(distance):
    def priority(rows):
        centres = ClassCentres.gather([(rows, LABELS)])
        return distance_to_class_mean(rows, LABELS, centres, distance=distance)

    return priority


def neighbourhood(distance):
    return lambda rows: neighbourhood_distance(rows, neighbours=3, distance=distance)


def to_new(distance):
    return lambda rows: distance_to_new(rows, rows[:, ::-1], distance=distance)


def of_kind(kind):
    return lambda rows: uncertainty(rows, rows[:5], kind)


DISTANCES = {"class mean": class_mean, "neighbourhood": neighbourhood, "new": to_new}
OF_LENGTHS = {name: of("l2") for name, of in DISTANCES.items()}
OF_DIRECTIONS = {name: of("cosine") for name, of in DISTANCES.items()} | {
    kind: of_kind(kind) for kind in UNCERTAINTIES
}
# Powers of two, by which every bit but those of the exponent stays.
UNITS = [2.0**-900, 2.0**-600, 2.0**-60, 2.0**60, 2.0**600, 2.0**1000]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("priority", OF_LENGTHS.values(), ids=OF_LENGTHS)
def test_a_distance_has_the_unit_of_the_embeddings(priority, unit):
    np.testing.assert_array_equal(priority(unit * ROWS), unit * priority(ROWS))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("priority", OF_DIRECTIONS.values(), ids=OF_DIRECTIONS)
def test_a_direction_has_none(priority, unit):
    np.testing.assert_array_equal(priority(unit * ROWS), priority(ROWS))


@pytest.mark.parametrize("priority", OF_DIRECTIONS.values(), ids=OF_DIRECTIONS)
def test_nor_does_the_length_of_one_item_matter_to_another(priority):
    lengths = np.where(np.arange(300) == 0, 2.0**900, 1.0)[:, None]

    np.testing.assert_array_equal(priority(lengths * ROWS), priority(ROWS))


@pytest.mark.parametrize("priority", OF_LENGTHS.values(), ids=OF_LENGTHS)
def test_a_distance_that_float64_cannot_hold_is_refused(priority):
    rows = np.zeros((300, 4))
    rows[299] = np.finfo(np.float64).max * np.array([1, 1, -1, -1])

    with pytest.raises(ValueError, match="small enough for float64"):
        priority(rows)


def test_a_class_whose_sum_float64_cannot_hold_is_refused_by_name():
    rows = np.full((2, 3), 1e308)

    with pytest.raises(ValueError, match=r"sum of a class. Received: .* 'ka'"):
        ClassCentres.gather([(rows, ["ka", "ka"])])
