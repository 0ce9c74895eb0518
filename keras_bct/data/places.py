"""Places365-Standard, as distributed.

Zhou et al., *Places: A 10 Million Image Database for Scene Recognition*, TPAMI 2017.
Pictures of 256 x 256 (`_256`) or of at least 512 on the shorter side (`_large`):

    categories_places365.txt       /a/airfield 0
    places365_train_standard.txt   /a/airfield/00000001.jpg 0     1,803,460 lines
    places365_val.txt              Places365_val_00000001.jpg 165    36,500 lines
    data_256/a/airfield/00000001.jpg, or data_256_standard/..., data_large/...
    val_256/Places365_val_00000001.jpg, or val_large/...

The other form, `places365_standard/train/airfield/...`, is an image folder:
`read_image_folder`.
"""

from __future__ import annotations

import os
import pathlib

import numpy as np

from keras_bct.data.image_list import ImageList
from keras_bct.data.image_preparation import Preparation
from keras_bct.data.line_error import LineError, read_fields, whole_number

PREPARATION = Preparation(height=224, width=224, shorter_side=256)
"""The centre of 224 pixels of a picture whose shorter side is 256."""

_LISTS = {"train": "places365_train_standard.txt", "val": "places365_val.txt"}
_FOLDERS = {
    "train": ("data_256_standard", "data_256", "data_large_standard", "data_large"),
    "val": ("val_256", "val_large"),
}
_LINE = "a picture's file and the number of its category"


def read_places365(directory: str | os.PathLike[str], part: str) -> ImageList:
    """List the pictures of one part.

    Args:
        directory: the folder with the lists and the folders of the pictures.
        part: `train` or `val`.

    Returns:
        The pictures in the order of the list; ids are their paths in it, labels the
        categories such as `airfield` or `apartment_building/outdoor`.

    Raises:
        FileNotFoundError: a list or the folder of the pictures is not there.
        LineError: a line that is malformed, that contradicts the categories, comes
            twice or names a picture that is not there.
        ValueError: another part.
    """
    if part not in _LISTS:
        raise ValueError(
            f"`part` should be one of {', '.join(_LISTS)}. Received: {part!r}"
        )
    root = pathlib.Path(directory)
    folders = [root / name for name in _FOLDERS[part]]
    folder = next((place for place in folders if place.is_dir()), None)
    if folder is None:
        raise FileNotFoundError(
            f"The pictures of Places365 {part!r} should be in one of "
            f"{', '.join(map(str, folders))}. Received: none of them"
        )
    categories = _read_categories(root / "categories_places365.txt")
    path = root / _LISTS[part]
    lines: dict[str, int] = {}
    paths, labels = [], []
    for line, (file, text) in read_fields(path, 2, _LINE):
        number = whole_number(path, line, text, _LINE)
        if number >= len(categories):
            raise LineError(
                path, line, f"a category from 0 to {len(categories) - 1}", text
            )
        name = file.lstrip("/")
        if part == "train" and os.path.dirname(name) != categories[number]:
            raise LineError(
                path,
                line,
                f"a picture of category {number}, /{categories[number]}",
                repr(file),
            )
        if name in lines:
            raise LineError(
                path,
                line,
                "a picture of its own",
                f"{file!r}, which stands on line {lines[name]}",
            )
        lines[name] = line
        paths.append(os.path.join(folder, name))
        if not os.path.isfile(paths[-1]):
            raise LineError(path, line, "a picture that is there", paths[-1])
        labels.append(categories[number].split("/", 1)[1])
    if not lines:
        raise LineError(path, 1, _LINE, "an empty file")
    return ImageList(np.array(list(lines)), tuple(paths), np.array(labels))


def _read_categories(path: pathlib.Path) -> list[str]:
    """Return the categories as folders below that of the pictures: `a/airfield`."""
    expected = "a category such as /a/airfield and its number, counted from 0"
    categories: list[str] = []
    for line, (name, text) in read_fields(path, 2, expected):
        number = whole_number(path, line, text, expected)
        parts = name.split("/")
        if len(parts) < 3 or parts[0] or not all(parts[1:]):
            raise LineError(path, line, expected, repr(name))
        if number != len(categories):
            raise LineError(path, line, f"the number {len(categories)}", text)
        categories.append(name[1:])
    return categories
