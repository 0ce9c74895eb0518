"""A column of names as text: one rule for every reader."""

from __future__ import annotations

import math
import reprlib
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = ""
"""What stands where a name is not known."""


def text_column(name: str, values: Any, *, required: bool = False) -> NDArray[np.str_]:
    """Turn a column of ids, labels, cameras or class names into text.

    None, NaN, NaT, pandas' NA, null, a masked value, `""` and `b""` are missing, and
    become `""`. Bytes are UTF-8. Numbers are whole: as pandas makes `1.0` of an integer
    in a column with a gap, it reads `"1"`.

    Args:
        name: The caller's name of the argument.
        values: (n,) a list, an array of any type, a column of Arrow or of pandas, or a
            tensor.
        required: Refuse a missing value.

    Returns:
        (n,) strings.

    Raises:
        ValueError: No column, or a value that is no text; the message names the row,
            counted from 0.

    Example:
        >>> text_column("labels", ["ka", b"ki", 1, None, float("nan")]).tolist()
        ['ka', 'ki', '1', '', '']
    """
    column = _column(name, values)
    if required and len(missing := np.flatnonzero(column == MISSING)):
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise ValueError(
            f"`{name}` should have a value in every row. Received none in row "
            f"{missing[0]} (counted from 0){more}; fill in what is missing, or leave "
            "it out."
        )
    return column


def _column(name: str, values: Any) -> NDArray[np.str_]:
    if hasattr(values, "to_pylist"):
        kind = str(values.type)
        if kind in ("halffloat", "float", "double", "string", "binary"):
            # Short floats have fewer digits than Python's, of which a list would be.
            values = np.asarray(values)
        else:
            # A list, as NumPy would make floats of integers with nulls.
            values = values.to_pylist()
        if kind.startswith("fixed_size_binary"):
            values = [value and value.rstrip(b"\0") for value in values]
    elif hasattr(values, "__array__") and not isinstance(values, np.ndarray):
        values = np.asarray(values)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(
            f"`{name}` should be a column of one value a row. Received: shape "
            f"{values.shape}."
        )
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValueError(
            f"`{name}` should be a column of one value a row. Received: "
            f"{reprlib.repr(values)}."
        )
    # An array of text is text already; a masked one holds what its mask hides.
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray):
        if values.dtype.kind in "iu" or (
            values.dtype.kind == "U" and not _has_surrogates(values)
        ):
            return values.astype(np.str_, copy=False)
    return np.array(
        [
            # Most are plain: no call for each of a million of them.
            value
            if type(value) is str and value.isascii() and value[-1:] != "\0"
            else _text(name, row, value)
            for row, value in enumerate(values)
        ],
        np.str_,
    )


def _has_surrogates(column: NDArray[np.str_]) -> bool:
    """Whether a name holds half a character, as a file's name not in UTF-8 does."""
    native = column.astype(column.dtype.newbyteorder("="))
    codes = np.frombuffer(native.tobytes(), np.uint32)
    return bool(((codes >= 0xD800) & (codes <= 0xDFFF)).any())


def _text(name: str, row: int, value: Any) -> str:
    if isinstance(value, str | bytes):
        return _characters(name, row, value)
    if _is_missing(value):
        return MISSING
    if isinstance(value, bool | np.bool_ | int | np.integer | uuid.UUID):
        return str(value)
    if isinstance(value, float | np.floating | Decimal) and _is_exact(value):
        return str(int(value))
    raise _refused(name, row, value)


def _characters(name: str, row: int, value: str | bytes) -> str:
    try:
        if isinstance(value, bytes):
            text = value.decode()
        else:
            text = str(value)
            if not text.isascii():
                text.encode()
    except UnicodeError:
        raise _refused(name, row, value) from None
    # NumPy would cut it off, and make one name of two.
    if text.endswith("\0"):
        raise _refused(name, row, value)
    return text


def _is_missing(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ == "NAType":
        return True
    # NaN and NaT alone differ from themselves. pandas' own NaT is a date of Python.
    kinds = (float, Decimal, np.floating, np.datetime64, np.timedelta64)
    return (isinstance(value, kinds) or type(value).__name__ == "NaTType") and bool(
        value != value
    )


def _is_exact(value: Any) -> bool:
    """Whether it is a whole number, and one that its type tells from its neighbours."""
    digits = math.inf if isinstance(value, Decimal) else 53
    if isinstance(value, np.floating):
        digits = np.finfo(value).nmant + 1
    return math.isfinite(value) and value == int(value) and abs(value) < 2**digits


def _refused(name: str, row: int, value: Any) -> ValueError:
    return ValueError(
        f"`{name}` should hold text (in UTF-8) or whole numbers. Received: "
        f"{reprlib.repr(value)} ({type(value).__name__}) in row {row} (counted from "
        "0); write it as text."
    )
