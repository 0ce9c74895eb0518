"""Pictures as people have them: TFRecords, folders, files and lists of files."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_bct.file_patterns import matching_paths
from registry.errors import UsageError

if TYPE_CHECKING:
    from keras_bct.data import ImageList, ImageRecords


def read_pictures(names: Sequence[str]) -> ImageRecords:
    """Reads pictures and what is known of each.

    Args:
        names: Each one of

            - a folder: its pictures, those of the folders below too; an id is the path
              below it, and the first folder on that path is the label;
            - a picture's file: its name is the id, and there is no label;
            - a `.csv` file with the column `image` (paths from where it lies) and,
              where they are known, `id`, `label` and `camera`;
            - TFRecords of this project,

            or a pattern of such files.

    Returns:
        The pictures as they are in their files; a label or camera that is not known is
        empty.

    Raises:
        UsageError: Nothing is there, or it cannot be read as what it looks like.
    """
    from keras_bct.data import read_records
    from keras_bct.data.folder_listing import is_picture

    lists: list[ImageList] = []
    files: list[str] = []
    records: list[str] = []
    try:
        for name in names:
            for path in _matching(name):
                if os.path.isdir(path):
                    lists.append(_folder(path))
                elif path.lower().endswith(".csv"):
                    lists.append(_listed(path))
                elif is_picture(os.path.basename(path)):
                    files.append(path)
                else:
                    records.append(path)
        if files:
            lists.append(_unlabelled(list(map(os.path.basename, files)), files))
        parts = [part.read(preparation=None) for part in lists]
        if records:
            parts.append(read_records(records))
        return _joined(parts)
    except (OSError, ValueError) as error:
        raise UsageError(f"The pictures cannot be read: {error}") from error


def _matching(name: str) -> list[str]:
    """The path itself, or those that a pattern matches.

    Raises:
        FileNotFoundError: There is nothing.
    """
    if "://" in name:
        # Of a remote file system, which TensorFlow reads TFRecords from.
        return [name]
    found = matching_paths(name)
    if not found:
        raise FileNotFoundError(
            "expected folders, pictures, lists (.csv) or TFRecords. Received: "
            f"{name!r}, which matches nothing. Check the path; `*` stands for any name."
        )
    return found


def _folder(path: str) -> ImageList:
    from keras_bct.data import ImageList
    from keras_bct.data.folder_listing import FolderListing

    listing = FolderListing(path)
    ids = [found.relative_to(path).as_posix() for found in listing.pictures_below()]
    listing.report()
    if not ids:
        raise ValueError(
            f"expected pictures in {path}. Received: a folder without any."
        )
    return ImageList(
        ids=np.array(ids),
        paths=tuple(os.path.join(path, name) for name in ids),
        labels=np.array(
            [name.partition("/")[0] if "/" in name else "" for name in ids]
        ),
    )


def _listed(path: str) -> ImageList:
    from keras_bct.data import read_csv_list

    with open(path, encoding="utf-8-sig", newline="") as stream:
        columns = next(csv.reader(stream), [])
    if "label" not in columns:
        found = read_csv_list(
            path,
            label="image",
            id="id" if "id" in columns else None,
        )
        return _unlabelled(found.ids.tolist(), found.paths)
    return read_csv_list(
        path,
        id="id" if "id" in columns else None,
        camera="camera" if "camera" in columns else None,
    )


def _unlabelled(ids: Sequence[str], paths: Sequence[str]) -> ImageList:
    from keras_bct.data import ImageList

    return ImageList(np.array(ids), tuple(paths), np.full(len(ids), ""))


def _joined(parts: Sequence[ImageRecords]) -> ImageRecords:
    from keras_bct.data import ImageRecords

    cameras = None
    if any(part.cameras is not None for part in parts):
        cameras = np.concatenate(
            [
                np.full(len(part), "") if part.cameras is None else part.cameras
                for part in parts
            ]
        )
    return ImageRecords(
        ids=np.concatenate([part.ids for part in parts]),
        images=[image for part in parts for image in part.images],
        labels=np.concatenate([part.labels for part in parts]),
        cameras=cameras,
    )
