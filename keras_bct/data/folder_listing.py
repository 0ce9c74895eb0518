"""What lies in a folder of pictures, and what there is no picture of the set."""

from __future__ import annotations

import collections
import os
import pathlib
import sys
from collections.abc import Iterator

SUFFIXES = (
    ".bmp",
    ".gif",
    ".jfif",
    ".jpe",
    ".jpeg",
    ".jpg",
    ".png",
    ".tif",
    ".tiff",
    ".webp",
)
"""What a picture's name ends in, in small letters."""

_OTHER_PROGRAMS = frozenset(
    {
        "#recycle",
        "$recycle.bin",
        "@eadir",
        "__macosx",
        "desktop.ini",
        "ehthumbs.db",
        "lost+found",
        "system volume information",
        "thumbs.db",
    }
)
_HIDDEN = "hidden or another program's own"
_NO_PICTURE = "no picture by their names"
_CIRCLE = "links back to a folder that they lie in"
_NAMED = 3


def is_picture(name: str) -> bool:
    """Tell by a file's name whether it is a picture.

    >>> is_picture("0002_c1s1_000451_03.jpg"), is_picture("Thumbs.db")
    (True, False)
    """
    return not is_hidden(name) and name.lower().endswith(SUFFIXES)


def is_hidden(name: str) -> bool:
    """Tell by a name whether it is hidden, or what another program keeps for itself.

    >>> [is_hidden(name) for name in (".DS_Store", "._1.jpg", "@eaDir", "1.jpg")]
    [True, True, True, False]
    """
    return name.startswith(".") or name.lower() in _OTHER_PROGRAMS


class FolderListing:
    """Lists a set's folders, and counts what it passes over.

    Args:
        root: the folder of the set.

    Raises:
        NotADirectoryError: there is no such folder.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = pathlib.Path(root)
        if not self.root.is_dir():
            raise NotADirectoryError(
                f"`directory` should be a folder. Received: {self.root}"
            )
        self._left_out: dict[str, list[str]] = collections.defaultdict(list)

    def entries(self, folder: str | os.PathLike[str] | None = None) -> list[str]:
        """Return the sorted names in a folder but the hidden ones.

        Args:
            folder: None for the root.

        Raises:
            ValueError: a name that is not UTF-8.
        """
        folder = self.root if folder is None else folder
        names = []
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            try:
                name.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"{path!a}: expected a name in UTF-8. Received: "
                    f"{os.fsencode(name)!r}. Rename it."
                ) from None
            if is_hidden(name):
                self._leave_out(_HIDDEN, path)
            else:
                names.append(name)
        return names

    def pictures_below(
        self, folder: str | os.PathLike[str] | None = None
    ) -> Iterator[pathlib.Path]:
        """Yield the pictures in a folder and in those below it, links followed.

        Args:
            folder: None for the root.
        """
        if folder is None:
            yield from self._walk(self.root, [])
        else:
            yield from self._walk(folder, [self.root.resolve()])

    def leave_out(self, path: str | os.PathLike[str]) -> None:
        """Pass over a file that is no picture by its name."""
        self._leave_out(_NO_PICTURE, path)

    def report(self) -> None:
        """Say in one line on standard error what was left out, if anything was."""
        if self._left_out:
            said = "; ".join(
                f"{len(paths)} {why} ({', '.join(paths[:_NAMED])}"
                f"{', ...' if len(paths) > _NAMED else ''})"
                for why, paths in self._left_out.items()
            )
            print(f"left out in {self.root}: {said}", file=sys.stderr)

    def _leave_out(self, why: str, path: str | os.PathLike[str]) -> None:
        self._left_out[why].append(os.path.relpath(path, self.root))

    def _walk(
        self, folder: str | os.PathLike[str], above: list[pathlib.Path]
    ) -> Iterator[pathlib.Path]:
        here = pathlib.Path(folder).resolve()
        if any(other.is_relative_to(here) for other in above):
            self._leave_out(_CIRCLE, folder)
            return
        for name in self.entries(folder):
            path = pathlib.Path(folder, name)
            if path.is_dir():
                yield from self._walk(path, [*above, here])
            elif is_picture(name):
                yield path
            else:
                self.leave_out(path)
