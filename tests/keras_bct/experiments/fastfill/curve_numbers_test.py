import dataclasses

import numpy as np
import pytest

from keras_bct.experiments.fastfill.curve_numbers import (
    CurveNumbers,
    MetricCurve,
    area_interval,
    difference_interval,
    gap_interval,
    share_of_closing,
)


def curve(points):
    return MetricCurve(0.5, 0.9, tuple(points), 0.0, (0.0, 0.0))


def numbers(class_points, class_groups=()):
    points = np.mean(class_points, axis=0)
    return CurveNumbers(
        {"retrieval/mAP": curve(points)},
        tuple(map(tuple, class_points)),
        class_groups=tuple(class_groups),
    )


def test_area_is_the_mean_of_the_points_and_normalised_between_old_and_new():
    rising = curve([0.6, 0.8])
    assert rising.area == pytest.approx(0.7)
    assert rising.normalised == pytest.approx((0.7 - 0.5) / (0.9 - 0.5))
    assert rising.start == 0.6


def test_interval_of_an_area_is_that_of_the_classes():
    same = numbers([[0.5, 0.7]] * 20)
    assert area_interval(same) == pytest.approx((0.6, 0.6))
    two = numbers([[0.0, 0.0], [1.0, 1.0]] * 50)
    low, high = area_interval(two)
    # The standard error of the mean of 100 such classes is 0.05.
    assert (low, high) == pytest.approx((0.5 - 0.098, 0.5 + 0.098), abs=0.02)


def test_difference_resamples_the_same_classes_on_both_sides():
    values = np.random.default_rng(0).uniform(size=(50, 2))
    one, other = numbers(values + 0.1), numbers(values)
    assert difference_interval(one, other) == pytest.approx((0.1, 0.1))


def test_difference_may_be_taken_at_some_points_alone():
    one, other = numbers([[0.3, 0.9]] * 5), numbers([[0.1, 0.9]] * 5)
    found = difference_interval(one, other, points=slice(1))
    assert found == pytest.approx((0.2, 0.2))


def test_gap_is_of_the_first_group_by_name_less_the_second():
    row = numbers([[0.9, 0.8], [0.4, 0.6]] * 10, ["dense", "light"] * 10)
    assert gap_interval(row, 0) == pytest.approx((0.5, 0.5))
    assert gap_interval(row, -1) == pytest.approx((0.2, 0.2))


@pytest.mark.parametrize(
    ("gaps", "share"),
    [
        ([0.125, 0.125, 0.125], 0.0),
        ([0.375, 0.125, 0.125], 0.5),
        ([0.375, 0.25, 0.125], 1.0),
        # What opens again was not closed for good, whichever group is ahead.
        ([0.125, -0.25, 0.125], 1.0),
    ],
)
def test_gap_is_closed_from_where_it_stays_within_the_new_models(gaps, share):
    dense = [0.5 + gap for gap in gaps]
    row = dataclasses.replace(
        numbers([dense, [0.5] * 3] * 10, ["dense", "light"] * 10),
        groups={"dense": tuple(dense), "light": (0.5,) * 3},
    )
    assert share_of_closing(row) == share
