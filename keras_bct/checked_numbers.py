"""Numbers of a configuration, refused by name or made Python's own."""

from __future__ import annotations

import math
import numbers
import operator
import sys
from dataclasses import fields
from typing import Any

import numpy as np


def whole_number(name: str, value: Any, least: int) -> int:
    """Check a whole number; NumPy's count, True and 8.0 do not.

    Args:
        name: The caller's name of the argument, for the message.
        value: What was given.
        least: The least that it may be.

    Raises:
        ValueError: No whole number, or one below `least`.

    Example:
        >>> whole_number("epochs", 8, least=1)
        8
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(
            f"`{name}` should be a whole number, at least {least}. Received: {value!r}."
        )
    return int(value)


def finite_number(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Check a finite number above zero; NumPy's count, True does not.

    Args:
        name: The caller's name of the argument, for the message.
        value: What was given.
        or_zero: Whether it may be zero, too.

    Raises:
        ValueError: No such number.

    Example:
        >>> finite_number("learning_rate", 1)
        1.0
    """
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        # Before any comparison: NumPy 2 squeezes the limit into the value's own type.
        number = float(value) if real else math.nan
    except OverflowError:  # A whole number of too many digits.
        number = math.inf
    least = 0 if or_zero else sys.float_info.min
    if not least <= number <= sys.float_info.max:
        wanted = "zero or more" if or_zero else "above zero"
        raise ValueError(
            f"`{name}` should be {wanted}, and finite. Received: {value!r}."
        )
    return number


def plain_seed(seed: int | None) -> int | None:
    """Give a seed as Python's own number, which Keras asks for and JSON writes.

    Args:
        seed: A whole number of Python or NumPy, or None for another draw every time.

    Raises:
        TypeError: Neither.

    Example:
        >>> import numpy as np
        >>> plain_seed(np.int64(3))
        3
    """
    return None if seed is None else operator.index(seed)


def make_plain(settings: Any) -> None:
    """Make NumPy's scalars among the fields of a frozen dataclass Python's own.

    What is written as JSON, and what a digest is taken of, knows no others.

    Args:
        settings: The dataclass, changed in place: for its `__post_init__`.

    Example:
        >>> from dataclasses import dataclass
        >>> import numpy as np
        >>> @dataclass(frozen=True)
        ... class Settings:
        ...     steps: int
        ...     def __post_init__(self):
        ...         make_plain(self)
        >>> type(Settings(np.int64(3)).steps)
        <class 'int'>
    """
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, np.generic):
            object.__setattr__(settings, field.name, value.item())
