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


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA])
@pytest.mark.parametrize("kind", [list, tuple, lambda of: np.array(of, object)])
def test_a_name_that_is_missing_is_no_class(missing, kind):
    with pytest.raises(
        ValueError, match=r"`labels` .* (None|nan|<NA>) for item 1; leave"
    ):
        label_array(kind(["ka", missing, "ki"]), 3)


def test_numbers_of_classes_have_none_for_nan():
    with pytest.raises(ValueError, match="nan for item 1"):
        label_array(np.array([0.0, np.nan]), 2)


@pytest.mark.parametrize(
    "labels", [["ka"], [["ka", "ki"]], "ka", (name for name in ("ka", "ki")), None]
)
def test_other_than_one_name_an_item_is_refused(labels):
    with pytest.raises(ValueError, match=r"class of each of 2 items. Received: shape"):
        label_array(labels, 2)
