"""A number and what it counts, as people write it."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """A number with the word for one or for many.

    Args:
        number: How many.
        one: The word for one of them.
        many: The word for more; `one` with an s by default.

    Example:
        >>> counted(1, "row"), counted(1200, "row"), counted(0, "class", "classes")
        ('1 row', '1,200 rows', '0 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
