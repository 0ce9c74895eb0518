"""A folder of pictures with one folder a class."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import numpy as np

from keras_bct.data.image_list import ImageList

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".webp")
"""What a picture's name ends in, in small letters."""


def read_image_folder(directory: str | os.PathLike[str]) -> ImageList:
    """List `directory/CLASS/...jpg`, sorted; the folders' names are the labels.

    Pictures may lie deeper than their class's folder. Files that are no pictures by
    their name (`Thumbs.db`, a README) are passed over.

    Args:
        directory: the folder of the classes.

    Returns:
        The pictures, with ids such as `CLASS/one.jpg`: paths below `directory`.

    Raises:
        NotADirectoryError: there is no such folder.
        ValueError: a picture that lies outside the folders of the classes, a class
            without pictures, or no class at all.
    """
    root = pathlib.Path(directory)
    if not root.is_dir():
        raise NotADirectoryError(
            f"`directory` should be a folder with one folder a class. Received: {root}"
        )
    ids: list[str] = []
    labels: list[str] = []
    for entry in sorted(root.iterdir()):
        if entry.name.startswith("."):
            continue
        if not entry.is_dir():
            if is_picture(entry.name):
                raise ValueError(
                    f"{entry}: expected a folder with the pictures of one class. "
                    "Received: a picture. Move it into the folder of its class."
                )
            continue
        found = [path.relative_to(root).as_posix() for path in _pictures_below(entry)]
        if not found:
            raise ValueError(
                f"{entry}: expected pictures ({', '.join(SUFFIXES)}) of one class. "
                "Received: none. Remove the folder, or fill it."
            )
        ids.extend(found)
        labels.extend([entry.name] * len(found))
    if not ids:
        raise ValueError(
            f"{root}: expected one folder a class. Received: no folder with pictures"
        )
    return ImageList(
        ids=np.array(ids),
        paths=tuple(os.path.join(root, name) for name in ids),
        labels=np.array(labels),
    )


def is_picture(name: str) -> bool:
    """Tell by a file's name whether it is a picture.

    >>> is_picture("0002_c1s1_000451_03.jpg"), is_picture("Thumbs.db")
    (True, False)
    """
    return not name.startswith(".") and name.lower().endswith(SUFFIXES)


def _pictures_below(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if is_picture(name):
                yield pathlib.Path(parent, name)
