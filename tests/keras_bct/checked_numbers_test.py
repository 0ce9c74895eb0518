import math

import numpy as np
import pytest

from keras_bct.checked_numbers import finite_number, whole_number


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_are_made_pythons_own(value):
    assert type(whole_number("epochs", value, least=3)) is int


@pytest.mark.parametrize("value", [2, 8.0, True, "3", None, math.nan, np.array([3])])
def test_what_is_no_whole_number_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"`epochs` should be a whole.*least 3") as e:
        whole_number("epochs", value, least=3)
    assert f"Received: {value!r}" in str(e.value)


@pytest.mark.parametrize(
    "value",
    [2, 0.5, np.float16(0.5), np.float32(0.5), np.float64(2), np.int8(2), np.uint64(2)],
)
def test_numbers_are_made_pythons_own(value):
    assert finite_number("rate", value) == value
    assert type(finite_number("rate", value)) is float


@pytest.mark.parametrize(
    "value",
    [
        *(0, -1, math.nan, math.inf, 10**400, True, "1", None, np.array([1.0])),
        *(np.float32("nan"), np.float16("inf"), np.float32(-1), np.bool_(True)),
    ],
)
def test_what_is_no_number_above_zero_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"`rate` should be above zero") as e:
        finite_number("rate", value)
    assert f"Received: {value!r}" in str(e.value)


def test_zero_may_be_allowed():
    assert finite_number("rate", 0, or_zero=True) == 0.0
    with pytest.raises(ValueError, match="zero or more"):
        finite_number("rate", -0.1, or_zero=True)
