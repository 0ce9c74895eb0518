"""What the lists of both forms of IJB-C have in common."""

from __future__ import annotations

import pathlib

import numpy as np
import numpy.typing as npt

from keras_bct.data.line_error import LineError, read_lines, whole_number

Integers = npt.NDArray[np.int64]

# Of the pairs in 1:1: the first templates are in the galleries.
TEMPLATE_FILES = (
    "ijbc_1N_gallery_G1.csv",
    "ijbc_1N_gallery_G2.csv",
    "ijbc_1N_probe_mixed.csv",
)
TEMPLATE_COLUMNS = ["TEMPLATE_ID", "SUBJECT_ID"]


def template_of(
    path: pathlib.Path, line: int, row: dict[str, str], subjects: dict[str, str]
) -> tuple[str, str]:
    """Return a line's template and subject; one template has one subject."""
    expected = "numbers in TEMPLATE_ID and SUBJECT_ID"
    template, subject = (
        str(whole_number(path, line, row[column], expected))
        for column in TEMPLATE_COLUMNS
    )
    if subjects.setdefault(template, subject) != subject:
        raise LineError(
            path,
            line,
            f"the subject of template {template}, {subjects[template]}",
            subject,
        )
    return template, subject


def read_numbers(
    path: pathlib.Path, delimiter: str, columns: int, expected: str
) -> Integers:
    """Return a table of whole numbers, int64 (lines, columns); millions in seconds."""
    from pyarrow import ArrowInvalid, csv

    names = [str(column) for column in range(columns)]
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, "int64"), null_values=[]
            ),
        )
        numbers: Integers = np.column_stack([table[name].to_numpy() for name in names])
        if len(numbers) and numbers.min() >= 0:
            return numbers
    except ArrowInvalid:
        pass
    # Once more and line by line, to say which one it is.
    rows = []
    for line, text in read_lines(path):
        values = [value for value in text.split(delimiter)]
        if len(values) != columns:
            raise LineError(path, line, expected, repr(text))
        rows.append([whole_number(path, line, v.strip(), expected) for v in values])
    if not rows:
        raise LineError(path, 1, expected, "an empty file")
    return np.array(rows, np.int64)


def refuse_unknown(path: pathlib.Path, pairs: Integers, known: Integers) -> None:
    """Refuse pairs with a template that has no pictures, naming the line."""
    unknown = np.argwhere(~np.isin(pairs, known))
    if len(unknown):
        line, column = unknown[0]
        raise LineError(
            path,
            int(line) + 1,
            "templates that have pictures",
            f"template {pairs[line, column]}, which has none",
        )
