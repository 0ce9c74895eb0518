"""A course has the steps that its recipe asks for, in intervals of one length."""

import itertools

import pytest

from keras_bct.training import Recipe
from keras_bct.training.course import Course


def lengths(course: Course) -> list[int]:
    """How many steps each interval has."""
    ends = [course.steps_after(n) for n in range(course.intervals + 1)]
    return [after - before for before, after in itertools.pairwise(ends)]


@pytest.mark.parametrize("interval_steps", [None, 1, 7, 1000])
@pytest.mark.parametrize("steps", [1, 4, 10, 11, 25, 1499, 1500])
def test_every_step_is_trained_and_none_more(
    steps: int, interval_steps: int | None
) -> None:
    recipe = Recipe("beta", 8, steps, interval_steps=interval_steps)
    course = Course.of(recipe, pictures=1000)
    assert course.steps == steps
    *whole, last = lengths(course)
    assert sum(whole) + last == steps
    assert set(whole) <= {course.interval}
    assert 0 < last <= course.interval


@pytest.mark.parametrize("interval_steps", [None, 7])
def test_epochs_are_trained_to_their_end(interval_steps: int | None) -> None:
    recipe = Recipe("beta", 8, epochs=16, batch_size=10, interval_steps=interval_steps)
    course = Course.of(recipe, pictures=59)
    assert (course.epoch_steps, course.steps) == (5, 80)
    assert sum(lengths(course)) == 80


@pytest.mark.parametrize("steps", [10, 1200, 1500])
def test_what_divides_by_ten_has_ten_equal_intervals(steps: int) -> None:
    # As every training in out/experiments has them.
    assert lengths(Course.of(Recipe("beta", 8, steps), 1000)) == [steps // 10] * 10


@pytest.mark.parametrize(
    ("fields", "course"),
    [
        ({"steps": 1500}, Course(5, 1500, 150)),
        ({"steps": 1234}, Course(5, 1234, 124)),
        ({"steps": 3}, Course(5, 3, 1)),
        ({"epochs": 16}, Course(5, 80, 5)),
        ({"epochs": 16, "interval_steps": 2}, Course(5, 80, 2)),
        ({"steps": 1500, "interval_steps": 400}, Course(5, 1500, 375)),
        ({"steps": 100, "interval_steps": 1000}, Course(5, 100, 100)),
    ],
)
def test_an_interval_is_a_tenth_an_epoch_or_about_what_is_asked_for(
    fields: dict[str, int], course: Course
) -> None:
    recipe = Recipe("beta", 8, batch_size=10, **fields)
    assert Course.of(recipe, pictures=59) == course
