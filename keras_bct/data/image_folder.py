"""A folder of pictures with one folder a class."""

from __future__ import annotations

import os

import numpy as np

from keras_bct.data.folder_listing import SUFFIXES, FolderListing, is_picture
from keras_bct.data.image_list import ImageList


def read_image_folder(directory: str | os.PathLike[str]) -> ImageList:
    """List `directory/CLASS/...jpg`, sorted; the folders' names are the labels.

    Pictures may lie deeper than their class's folder, and links are followed. Hidden
    files and folders, those of other programs (`Thumbs.db`, `@eaDir`) and files that
    are no pictures by their names are passed over; a line on standard error says how
    many.

    Args:
        directory: the folder of the classes.

    Returns:
        The pictures, with ids such as `CLASS/one.jpg`: paths below `directory`.

    Raises:
        NotADirectoryError: there is no such folder.
        ValueError: a picture that lies outside the folders of the classes, a class
            without pictures, no class at all, or a name that is not UTF-8.
    """
    listing = FolderListing(directory)
    root = listing.root
    ids: list[str] = []
    labels: list[str] = []
    for name in listing.entries():
        entry = root / name
        if not entry.is_dir():
            if is_picture(name):
                raise ValueError(
                    f"{entry}: expected a folder with the pictures of one class. "
                    "Received: a picture. Move it into the folder of its class."
                )
            listing.leave_out(entry)
            continue
        found = [
            path.relative_to(root).as_posix() for path in listing.pictures_below(entry)
        ]
        if not found:
            listing.report()
            raise ValueError(
                f"{entry}: expected pictures ({', '.join(SUFFIXES)}) of one class. "
                "Received: none. Remove the folder, or fill it."
            )
        ids.extend(found)
        labels.extend([name] * len(found))
    if not ids:
        raise ValueError(
            f"{root}: expected one folder a class. Received: no folder with pictures"
        )
    listing.report()
    return ImageList(
        ids=np.array(ids),
        paths=tuple(os.path.join(root, name) for name in ids),
        labels=np.array(labels),
    )
