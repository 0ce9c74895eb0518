import numpy as np
import pandas as pd
import pytest

from keras_bct.checked_labels import label_array


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "None", "nan"],
        ("1", "None", "nan"),
        np.array(["1", "None", "nan"]),
        np.array(["1", "None", "nan"], object),
        [1, "None", "nan"],
    ],
)
def test_every_item_has_a_name(labels):
    found = label_array(labels, 3)

    assert found.dtype.kind == "U"
    assert found.tolist() == ["1", "None", "nan"]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, "", b""])
@pytest.mark.parametrize("kind", [list, tuple, lambda of: np.array(of, object)])
def test_a_name_that_is_missing_is_no_class(missing, kind):
    with pytest.raises(ValueError, match=r"`labels` .* none in row 1 .* leave"):
        label_array(kind(["ka", missing, "ki"]), 3)


def test_numbers_of_classes_have_none_for_nan():
    with pytest.raises(ValueError, match="none in row 1"):
        label_array(np.array([0.0, np.nan]), 2)


def test_names_as_bytes_are_the_same_classes():
    assert label_array(np.array([b"ka", b"ki"]), 2).tolist() == ["ka", "ki"]


@pytest.mark.parametrize("labels", [["ka"], [], ["ka", "ki", "ku"]])
def test_there_is_one_name_for_each_item(labels):
    with pytest.raises(ValueError, match=r"class of each of 2 items. Received: \d"):
        label_array(labels, 2)


@pytest.mark.parametrize("labels", [[["ka", "ki"]], "ka", None])
def test_other_than_a_column_of_names_is_refused(labels):
    with pytest.raises(ValueError, match="`labels` should"):
        label_array(labels, 2)
