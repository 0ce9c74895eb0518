"""Pictures listed in a CSV file."""

from __future__ import annotations

import csv
import os
import pathlib
from collections.abc import Iterator

import numpy as np

from keras_bct.counted import counted
from keras_bct.data.image_list import ImageList
from keras_bct.data.line_error import LineError, read_lines


def read_csv_list(
    path: str | os.PathLike[str],
    *,
    image: str = "image",
    label: str = "label",
    id: str | None = None,
    camera: str | None = None,
    template: str | None = None,
    medium: str | None = None,
    directory: str | os.PathLike[str] | None = None,
) -> ImageList:
    """List the pictures of a CSV file whose first line names the columns.

    Args:
        path: the file, in UTF-8, one picture a line.
        image: the column with the picture's file.
        label: the column with the class name.
        id: the column with the id; None: the text of `image` is the id.
        camera: the column with the camera; None: unknown.
        template: the column with the template; None: none.
        medium: the column with the medium; None: none.
        directory: where the pictures' paths start; None: where the CSV file lies.

    Returns:
        The pictures, in the order of the lines. A label, camera, template or medium
        that a line leaves empty is not known, and "".

    Raises:
        LineError: a column that the first line does not name, a line with too few or
            too many values or without a file or an id, an id that came before, or a
            picture that is not there.
        FileNotFoundError: there is no such CSV file.
    """
    wanted = {
        "ids": image if id is None else id,
        "paths": image,
        "labels": label,
        "cameras": camera,
        "templates": template,
        "media": medium,
    }
    columns: dict[str, list[str]] = {
        name: [] for name, column in wanted.items() if column is not None
    }
    root = pathlib.Path(path).parent if directory is None else pathlib.Path(directory)
    first_lines: dict[str, int] = {}
    for number, row in read_rows(path, [c for c in wanted.values() if c is not None]):
        for name, values in columns.items():
            value = row[wanted[name] or ""]
            if not value and name in ("ids", "paths"):
                raise LineError(path, number, f"a value for {wanted[name]!r}", "none")
            values.append(value)
        identity = columns["ids"][-1]
        if identity in first_lines:
            raise LineError(
                path,
                number,
                "an id of its own for every picture",
                f"{identity!r}, which stands on line {first_lines[identity]}",
            )
        first_lines[identity] = number
        file = root / columns["paths"][-1]
        if not file.is_file():
            raise LineError(path, number, "a picture that is there", str(file))
        columns["paths"][-1] = str(file)
    if not first_lines:
        raise LineError(path, 2, "a picture", "the end of the file")
    return ImageList(
        paths=tuple(columns.pop("paths")),
        **{name: np.array(values) for name, values in columns.items()},
    )


def read_rows(
    path: str | os.PathLike[str], columns: list[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each line's number and its values by column, without outer blanks.

    Args:
        path: a CSV file whose first line names the columns.
        columns: the columns that it must have; it may have more.

    Raises:
        LineError: a column that is missing, or a line with another number of values.
    """
    lines = read_lines(path)
    # One quoted value may span lines; the reader then counts what it has taken.
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for number, text in lines:
            taken = number
            yield text

    reader = csv.reader(texts(), skipinitialspace=True, strict=True)
    names: list[str] = []
    while True:
        try:
            values = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise LineError(path, taken, "comma-separated values", str(error)) from None
        # Not every blank of Unicode: names begin and end with them, too.
        values = [value.strip(" \t") for value in values]
        if not names:
            names = values
            missing = [column for column in columns if column not in names]
            if missing:
                raise LineError(
                    path,
                    taken,
                    f"the names of the columns, {missing[0]!r} among them",
                    ", ".join(names) or "nothing",
                )
        elif values:
            if len(values) != len(names):
                raise LineError(
                    path,
                    taken,
                    f"{counted(len(names), 'value')} ({', '.join(names)})",
                    f"{len(values)}: {', '.join(values)}",
                )
            yield taken, dict(zip(names, values, strict=True))
    if not names:
        raise LineError(path, 1, "the names of the columns", "an empty file")
