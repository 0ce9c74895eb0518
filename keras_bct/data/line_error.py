"""Lists in text files, and errors that say which line of which file is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator


class LineError(ValueError):
    """A line that is not what its file should hold.

    Attributes:
        path: the file.
        line: the line's number, from 1.

    Args:
        path: the file.
        line: the line's number, from 1.
        expected: what the line should be.
        received: what it is.

    >>> print(LineError("a.txt", 3, "two numbers", "'1'"))
    a.txt:3: expected two numbers. Received: '1'
    """

    def __init__(
        self, path: str | os.PathLike[str], line: int, expected: str, received: str
    ) -> None:
        self.path = os.fspath(path)
        self.line = line
        super().__init__(
            f"{self.path}:{line}: expected {expected}. Received: {received}"
        )


def read_fields(
    path: str | os.PathLike[str], fields: int, expected: str
) -> Iterator[tuple[int, list[str]]]:
    r"""Yield each line's number and its fields, which blanks separate.

    Empty lines at the end of the file are passed over.

    Args:
        path: the file, in UTF-8.
        fields: how many every line has.
        expected: what a line should be, for the error.

    Raises:
        LineError: a line with another number of fields.
        FileNotFoundError: there is no such file.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "list.txt")
    >>> _ = file.write_text("a.jpg 0\nb.jpg 1\n")
    >>> list(read_fields(file, 2, "a file and a number"))
    [(1, ['a.jpg', '0']), (2, ['b.jpg', '1'])]
    """
    empty: list[int] = []
    for number, line in read_lines(path):
        values = line.split()
        if not values:
            empty.append(number)
            continue
        if empty or len(values) != fields:
            wrong = empty[0] if empty else number
            raise LineError(path, wrong, expected, repr("" if empty else line))
        yield number, values


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield each line's number, from 1, and the line without its end.

    Raises:
        LineError: bytes that are not UTF-8.
        FileNotFoundError: there is no such file.
    """
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield (
                    number,
                    raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n"),
                )
            except UnicodeDecodeError as error:
                raise LineError(path, number, "text in UTF-8", repr(raw)) from error


def whole_number(
    path: str | os.PathLike[str], line: int, text: str, expected: str
) -> int:
    """Read a whole number that is not negative.

    Raises:
        LineError: the text is something else.
    """
    if not (text.isascii() and text.isdigit()):
        raise LineError(path, line, expected, repr(text))
    return int(text)
