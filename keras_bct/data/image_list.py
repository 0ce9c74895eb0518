"""Pictures on disk and what is known of each, before any of them is read."""

from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keras_bct.data.own_size import OwnSize

if TYPE_CHECKING:
    from keras_bct.data.records import ImageRecords

_NAMED_IN_ERRORS = 3
_COLUMNS = ("labels", "cameras", "templates", "media", "boxes", "landmarks")

Prepare = Callable[..., bytes]
"""From a file's bytes, `box` and `landmarks` to those of a record."""


@dataclasses.dataclass(frozen=True, eq=False)
class ImageList:
    """What every loader gives: n pictures by path, with their names.

    Attributes:
        ids: str, shape (n,), no two the same.
        paths: n files.
        labels: str, shape (n,), the class of each by name, "" where it is not known.
        cameras: str, shape (n,), or None.
        templates: str, shape (n,), or None: the template that a picture is part of.
        media: str, shape (n,), or None: frames of one video share a medium.
        boxes: float32, shape (n, 4), or None: left, top, width and height in pixels
            of what the picture is about, where the file shows more.
        landmarks: float32, shape (n, 5, 2), or None: x and y in pixels of the eyes,
            the nose and the corners of the mouth, left ones of the picture first.

    Raises:
        ValueError: the lengths differ, or two pictures have one id.

    >>> two = ImageList(np.array(["a", "b"]), ["a.jpg", "b.jpg"], np.array(["x", "y"]))
    >>> two.take(two.labels == "y").paths
    ('b.jpg',)
    """

    ids: npt.NDArray[np.str_]
    paths: tuple[str, ...]
    labels: npt.NDArray[np.str_]
    cameras: npt.NDArray[np.str_] | None = None
    templates: npt.NDArray[np.str_] | None = None
    media: npt.NDArray[np.str_] | None = None
    boxes: npt.NDArray[np.float32] | None = None
    landmarks: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Check the lengths and the ids."""
        object.__setattr__(self, "paths", tuple(map(os.fspath, self.paths)))
        lengths = {"ids": len(self.ids), "paths": len(self.paths)}
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None:
                lengths[name] = len(column)
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"Every column should be equally long. Received: {lengths}"
            )
        counts = collections.Counter(np.asarray(self.ids).tolist())
        twice = [name for name, count in counts.items() if count > 1]
        if twice:
            raise ValueError(
                "`ids` should be different for every picture. Received more than "
                f"once: {', '.join(map(repr, twice[:_NAMED_IN_ERRORS]))}"
            )

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.paths)

    def take(self, rows: npt.NDArray[Any]) -> ImageList:
        """Return the given rows: an (m,) array of indices or an (n,) mask."""
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        chosen: dict[str, Any] = {}
        for name in _COLUMNS:
            column = getattr(self, name)
            chosen[name] = None if column is None else column[rows]
        return ImageList(
            ids=self.ids[rows],
            paths=tuple(self.paths[row] for row in rows),
            **chosen,
        )

    def of_classes(self, names: Sequence[str]) -> ImageList:
        """Return the pictures of some classes, such as those of an old model.

        Raises:
            ValueError: a class that has no picture.
        """
        missing = sorted(set(names) - set(self.labels.tolist()))
        if missing:
            raise ValueError(
                "`names` should be classes of this list. Received "
                f"{len(missing)} without a picture, the first: {missing[0]!r}"
            )
        return self.take(np.isin(self.labels, list(names)))

    def read(self, preparation: Prepare | None = OwnSize()) -> ImageRecords:  # noqa: B008 - frozen
        """Read every picture into memory.

        Args:
            preparation: a `Preparation` or `OwnSize`; None: the bytes as they are.

        Raises:
            FileNotFoundError: a file that is not there; the message names the id.
            ValueError: one that cannot be decoded; the message names id and file.
        """
        from keras_bct.data.records import ImageRecords

        return ImageRecords(
            ids=self.ids,
            images=[self.prepared(row, preparation) for row in range(len(self))],
            labels=self.labels,
            cameras=self.cameras,
            templates=self.templates,
            media=self.media,
        )

    def prepared(self, row: int, preparation: Prepare | None) -> bytes:
        """Read and prepare one picture.

        Args:
            row: which one.
            preparation: as for `read`.

        Raises:
            FileNotFoundError: the file is not there; the message names the id.
            ValueError: it cannot be decoded; the message names id and file.
        """
        image = self.read_bytes(row)
        if preparation is None:
            return image
        try:
            return preparation(
                image,
                box=None if self.boxes is None else self.boxes[row],
                landmarks=None if self.landmarks is None else self.landmarks[row],
            )
        except ValueError as error:
            raise ValueError(
                f"{self.paths[row]} (id {str(self.ids[row])!r}): {error}"
            ) from error

    def read_bytes(self, row: int) -> bytes:
        """Read one file.

        Raises:
            FileNotFoundError: the file is not there; the message names the id.
        """
        try:
            return pathlib.Path(self.paths[row]).read_bytes()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"The picture {str(self.ids[row])!r} should be in {self.paths[row]}, "
                "which is not there. Was the set unpacked whole?"
            ) from error
