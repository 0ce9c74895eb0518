import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from keras_bct.text_column import text_column

NAMED = ["ka", "ki", "漢字🙂", "a\u2028b", "None", "nan", "NA", " "]


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        np.array,
        lambda of: np.array(of, object),
        lambda of: [text.encode() for text in of],
        lambda of: np.array([text.encode() for text in of]),
        lambda of: np.array([text.encode() for text in of], object),
        pd.Series,
        pd.Categorical,
        pa.array,
        lambda of: pa.chunked_array([of[:3], of[3:]]),
        lambda of: pa.array(of, pa.large_string()),
        lambda of: pa.array([text.encode() for text in of]),
        lambda of: pa.array(of).dictionary_encode(),
    ],
)
def test_text_stays_as_it_is_in_every_kind_of_column(kind):
    found = text_column("labels", kind(NAMED))

    assert found.dtype.kind == "U"
    assert found.tolist() == NAMED


@pytest.mark.parametrize(
    "missing",
    [
        None,
        float("nan"),
        np.float32("nan"),
        Decimal("nan"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT"),
        np.ma.masked,
        "",
        b"",
    ],
)
@pytest.mark.parametrize("kind", [list, tuple, lambda of: np.array(of, object)])
def test_what_is_missing_is_no_name(kind, missing):
    assert text_column("labels", kind(["ka", missing, "ki"])).tolist() == [
        "ka",
        "",
        "ki",
    ]


@pytest.mark.parametrize(
    "column",
    [
        [1, None, 3],
        np.array([1, np.nan, 3]),
        np.array([1, np.nan, 3], np.float16),
        np.ma.array([1, 2, 3], mask=[False, True, False]),
        np.ma.array(["1", "2", "3"], mask=[False, True, False]),
        pd.Series([1, None, 3]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Categorical([1, None, 3]),
        pa.array([1, None, 3]),
        pa.array([1.0, None, 3.0]),
        pa.array([1.0, None, 3.0], pa.float32()),
        pa.chunked_array([[1], [None, 3]]),
        pa.array([1, None, 3]).dictionary_encode(),
        [Decimal("1.00"), None, Decimal(3)],
    ],
)
def test_whole_numbers_with_a_gap_stay_whole(column):
    assert text_column("labels", column).tolist() == ["1", "", "3"]


def test_a_column_of_nothing_is_missing_in_every_row():
    assert text_column("cameras", pa.nulls(2)).tolist() == ["", ""]
    assert text_column("cameras", [None, None]).tolist() == ["", ""]
    assert text_column("cameras", []).tolist() == []


def test_numbers_of_any_size_are_exact():
    big = 2**63 + 1

    assert text_column("ids", [big, -big, True, np.uint64(big)]).tolist() == [
        str(big),
        str(-big),
        "True",
        str(big),
    ]
    assert text_column("ids", np.array([big, 7], np.uint64)).tolist() == [str(big), "7"]
    assert text_column("ids", [Decimal(10**30)]).tolist() == [str(10**30)]


def test_a_uuid_is_written_as_usual():
    name = uuid.UUID("12345678-1234-5678-1234-567812345678")

    assert text_column("ids", [name]).tolist() == [
        "12345678-1234-5678-1234-567812345678"
    ]


def test_zeros_that_pad_bytes_are_no_part_of_a_name():
    column = pa.array([b"ka\0\0", b"kana"], pa.binary(4))

    assert text_column("labels", column).tolist() == ["ka", "kana"]


@pytest.mark.parametrize(
    "value",
    [
        0.9,
        float("inf"),
        Decimal("0.5"),
        # Neighbours of this one would be rounded to it.
        2.0**53,
        np.float32(2**24),
        [1],
        {"a": 1},
        np.array(["a", "b"]),
        np.datetime64("2020-01-01"),
        pd.Timestamp("2020-01-01"),
        b"\xff\xfe",
        "\udcff",
        # NumPy cuts it off, and the row would be one of "ka".
        "ka\0",
        b"ka\0",
        object(),
    ],
)
def test_what_is_no_name_is_refused_with_its_row(value):
    column = np.empty(3, object)
    column[:] = ["ka", "ki", None]
    column[2] = value

    for kind in (list, tuple, lambda of: of):
        with pytest.raises(
            ValueError, match=r"`labels` should hold text .* in row 2 \(counted from 0"
        ):
            text_column("labels", kind(column))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["ka"], ["ki"]]),
        pa.array([{"a": "ka"}, None]),
        pa.array([2.0**24, 1.0], pa.float32()),
        pa.array([b"\x80", b"a"]),
        np.array([0.5, 1.0]),
        np.array(["2020-01-01", "NaT"], "datetime64[ns]"),
    ],
)
def test_a_column_of_another_type_is_refused_with_its_row(column):
    with pytest.raises(ValueError, match=r"`cameras` .* in row 0"):
        text_column("cameras", column)


@pytest.mark.parametrize("kind", [list, np.array, lambda names: np.array(names, ">U9")])
def test_half_a_character_is_refused_in_every_kind_of_column(kind):
    # So Python reads a file's name that is not UTF-8; nothing could write it.
    with pytest.raises(ValueError, match="in row 1 "):
        text_column(
            "labels", kind(["ka", b"\xff.png".decode(errors="surrogateescape")])
        )


@pytest.mark.parametrize("column", ["ka", b"ka", 3, None, np.array("ka"), {"ka": 1}])
def test_a_single_value_is_no_column(column):
    with pytest.raises(
        ValueError, match=r"`ids` should be a column of one value a row"
    ):
        text_column("ids", column)


def test_a_column_has_one_dimension():
    with pytest.raises(ValueError, match=r"Received: shape \(2, 2\)"):
        text_column("labels", np.array([["a", "b"], ["c", "d"]]))


def test_missing_values_can_be_refused_with_their_row():
    with pytest.raises(ValueError, match=r"`ids` .* none in row 1 .* and 1 more"):
        text_column("ids", ["a", None, "b", ""], required=True)
    assert text_column("ids", ["a", "b"], required=True).tolist() == ["a", "b"]
