"""VGGFace2: 9,131 people, 8,631 of them to train on and 500 to test with.

Cao et al., *VGGFace2: A dataset for recognising faces across pose and age*, FG 2018.
As distributed, with the loosely cropped faces in `train` and `test`:

    train/n000002/0001_01.jpg      the first face of the first picture of n000002
    train_list.txt, test_list.txt  n000002/0001_01.jpg
    identity_meta.csv              n000002, "A_Fine_Frenzy", 315, 1, f
    bb_landmark/loose_bb_train.csv          "n000002/0001_01",161,140,224,324
    bb_landmark/loose_landmark_train.csv    "n000002/0001_01",75.81,110.2,...
"""

from __future__ import annotations

import csv
import dataclasses
import os
import pathlib
import re

import numpy as np
import numpy.typing as npt

from keras_bct.data.csv_list import read_rows
from keras_bct.data.image_folder import read_image_folder
from keras_bct.data.image_list import ImageList
from keras_bct.data.image_preparation import Preparation
from keras_bct.data.line_error import LineError, read_fields, read_lines, whole_number

PREPARATION = Preparation(height=224, width=224, box_margin=0.3)
"""As the authors: the box 1.3 times as large; here as a square of 224 pixels."""

_PERSON = re.compile(r"n[0-9]{6}")
_NAME = re.compile(r"(?P<person>n[0-9]{6})/[0-9]{4}_[0-9]{2}\.jpg")
_PARTS = ("train", "test")
_META = "Class_ID, Name, Sample_Num, Flag, Gender"


@dataclasses.dataclass(frozen=True)
class Identity:
    """A person of `identity_meta.csv`.

    Attributes:
        name: such as `A_Fine_Frenzy`.
        pictures: how many there are.
        part: `train` or `test`.
        gender: `f` or `m`.
    """

    name: str
    pictures: int
    part: str
    gender: str


def read_vggface2(
    directory: str | os.PathLike[str], part: str, *, boxes: bool = False
) -> ImageList:
    """List the pictures of one part; the labels are people such as `n000002`.

    Args:
        directory: the folder with `train`, `test` and the lists, which may also lie in
            `meta` or `data`; without a list every picture of the part's folder
            counts.
        part: `train` or `test`.
        boxes: also read the boxes and landmarks of `bb_landmark`.

    Returns:
        The pictures; ids are such as `n000002/0001_01.jpg`.

    Raises:
        FileNotFoundError: the part's folder is not there, or the boxes' files.
        LineError: a line that is malformed, comes twice, or names a picture that is
            not there; a picture without a box.
        ValueError: another part, or a file with a name of another form.
    """
    if part not in _PARTS:
        raise ValueError(
            f"`part` should be one of {', '.join(_PARTS)}. Received: {part!r}"
        )
    root = pathlib.Path(directory)
    folder = root / part
    if not folder.is_dir():
        raise FileNotFoundError(
            f"VGGFace2's part {part!r} should be the folder {folder}. Received: none"
        )
    listed = _find(root, f"{part}_list.txt")
    images = _read_folder(folder) if listed is None else _read_list(listed, folder)
    if not boxes:
        return images
    stems = [name.removesuffix(".jpg") for name in images.ids.tolist()]
    return dataclasses.replace(
        images,
        boxes=_read_table(root, f"loose_bb_{part}.csv", stems, "XYWH"),
        landmarks=_read_table(
            root,
            f"loose_landmark_{part}.csv",
            stems,
            [f"P{n}{axis}" for n in range(1, 6) for axis in "XY"],
        ).reshape(-1, 5, 2),
    )


def read_identities(directory: str | os.PathLike[str]) -> dict[str, Identity]:
    """Read `identity_meta.csv`: who is to train on, and who is a woman or a man.

    Args:
        directory: the folder with the file, or with it in `meta` or `data`.

    Returns:
        The people by label, such as `n000002`.

    Raises:
        FileNotFoundError: there is no such file.
        LineError: a line that is malformed, or a person who comes twice.
    """
    path = _find(pathlib.Path(directory), "identity_meta.csv")
    if path is None:
        raise FileNotFoundError(
            f"`directory` should hold identity_meta.csv. Received: {directory}"
        )
    people: dict[str, Identity] = {}
    for line, text in read_lines(path):
        values = next(csv.reader([text], skipinitialspace=True), [])
        values = [value.strip() for value in values]
        if line == 1 and values[:1] == ["Class_ID"]:
            continue
        # The original ends some lines with a comma, and has commas within names that
        # no quotes protect: what comes last is counted from the end.
        while values and not values[-1]:
            values.pop()
        if len(values) < 5 or not _PERSON.fullmatch(values[0]):
            raise LineError(path, line, _META, repr(text))
        pictures, flag, gender = values[-3:]
        if flag not in ("0", "1") or gender not in ("f", "m"):
            raise LineError(path, line, f"{_META} (0 or 1, f or m)", repr(text))
        if values[0] in people:
            raise LineError(path, line, "every person once", values[0])
        people[values[0]] = Identity(
            name=",".join(values[1:-3]),
            pictures=whole_number(path, line, pictures, _META),
            part="train" if flag == "1" else "test",
            gender=gender,
        )
    return people


def _find(root: pathlib.Path, name: str) -> pathlib.Path | None:
    places = [root / name, root / "meta" / name, root / "data" / name]
    return next((place for place in places if place.is_file()), None)


def _read_folder(folder: pathlib.Path) -> ImageList:
    images = read_image_folder(folder)
    for name, path in zip(images.ids.tolist(), images.paths, strict=True):
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{path}: expected a person and a name such as n000002/0001_01.jpg. "
                f"Received: {name!r}"
            )
    return images


def _read_list(path: pathlib.Path, folder: pathlib.Path) -> ImageList:
    expected = "a picture such as n000002/0001_01.jpg"
    lines: dict[str, int] = {}
    labels, paths = [], []
    for line, (name,) in read_fields(path, 1, expected):
        parts = _NAME.fullmatch(name)
        if parts is None:
            raise LineError(path, line, expected, repr(name))
        if name in lines:
            raise LineError(
                path,
                line,
                "a picture of its own",
                f"{name!r}, which stands on line {lines[name]}",
            )
        lines[name] = line
        labels.append(parts["person"])
        paths.append(os.path.join(folder, name))
        if not os.path.isfile(paths[-1]):
            raise LineError(path, line, "a picture that is there", paths[-1])
    if not lines:
        raise LineError(path, 1, expected, "an empty file")
    return ImageList(np.array(list(lines)), tuple(paths), np.array(labels))


def _read_table(
    root: pathlib.Path, name: str, stems: list[str], columns: str | list[str]
) -> npt.NDArray[np.float32]:
    """Return a row of numbers for each picture, float32 (pictures, columns)."""
    path = root / "bb_landmark" / name
    wanted = {stem: row for row, stem in enumerate(stems)}
    numbers = np.full((len(stems), len(columns)), np.nan, np.float32)
    for line, values in read_rows(path, ["NAME_ID", *columns]):
        row = wanted.get(values["NAME_ID"])
        if row is None:
            continue
        try:
            numbers[row] = [float(values[column]) for column in columns]
        except ValueError:
            raise LineError(
                path, line, f"numbers for {', '.join(columns)}", repr(values)
            ) from None
    lacking = np.flatnonzero(np.isnan(numbers).any(axis=1))
    if len(lacking):
        raise ValueError(
            f"{path} should have a line for every picture. Received: none for "
            f"{stems[lacking[0]]!r} and {len(lacking) - 1} more"
        )
    return numbers
