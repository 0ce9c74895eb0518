"""IJB-C as NIST distributes it."""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Sequence

import numpy as np

from keras_bct.data.csv_list import read_rows
from keras_bct.data.ijbc_lists import (
    TEMPLATE_COLUMNS,
    TEMPLATE_FILES,
    Integers,
    read_numbers,
    refuse_unknown,
    template_of,
)
from keras_bct.data.image_list import ImageList
from keras_bct.data.line_error import LineError

_BOX_COLUMNS = ["FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT"]


class NistLayout:
    """Whole pictures, with boxes in the files of the templates."""

    def __init__(self, root: pathlib.Path) -> None:
        self._lists = root / "protocols"
        self._pictures = root / "images"

    def listed(self, name: str) -> ImageList:
        """Return the pictures of one file of templates."""
        return self._read_list(self._lists / name)

    def pairs(self) -> Integers:
        """Return the templates of 1:1, int64 (pairs, 2)."""
        path = self._lists / "ijbc_11_G1_G2_matches.csv"
        pairs = read_numbers(path, ",", 2, "two templates: of a gallery and a probe")
        _, templates = self._all
        refuse_unknown(path, pairs, np.unique(templates))
        return pairs

    def pictures(self, templates: Integers) -> ImageList:
        """Return the pictures of some templates."""
        pictures, template_of = self._all
        return pictures.take(np.isin(template_of, templates))

    @functools.cached_property
    def _all(self) -> tuple[ImageList, Integers]:
        """Return the pictures of both galleries and the probes, and their templates."""
        joined = _joined([self.listed(name) for name in TEMPLATE_FILES])
        return joined, np.array(joined.templates, np.int64)

    def _read_list(self, path: pathlib.Path) -> ImageList:
        columns = [*TEMPLATE_COLUMNS, "FILENAME", "SIGHTING_ID", *_BOX_COLUMNS]
        subjects: dict[str, str] = {}
        lines: dict[str, int] = {}
        paths, labels, templates, media, boxes = [], [], [], [], []
        for line, row in read_rows(path, columns):
            template, subject = template_of(path, line, row, subjects)
            identity = f"{template}/{row['SIGHTING_ID']}/{row['FILENAME']}"
            if identity in lines:
                raise LineError(
                    path,
                    line,
                    "a face of its own",
                    f"what stands on line {lines[identity]}",
                )
            lines[identity] = line
            try:
                box = [float(row[column]) for column in _BOX_COLUMNS]
            except ValueError:
                box = []
            if not box or not (box[2] > 0 and box[3] > 0):
                raise LineError(
                    path,
                    line,
                    f"a box in {', '.join(_BOX_COLUMNS)}",
                    ", ".join(row[column] or "nothing" for column in _BOX_COLUMNS),
                )
            file = os.path.join(self._pictures, row["FILENAME"])
            if not row["FILENAME"] or not os.path.isfile(file):
                raise LineError(path, line, "a picture that is there", file)
            paths.append(file)
            labels.append(subject)
            templates.append(template)
            media.append(row["SIGHTING_ID"] or row["FILENAME"])
            boxes.append(box)
        if not lines:
            raise LineError(path, 2, "a face", "the end of the file")
        return ImageList(
            ids=np.array(list(lines)),
            paths=tuple(paths),
            labels=np.array(labels),
            templates=np.array(templates),
            media=np.array(media),
            boxes=np.array(boxes, np.float32),
        )


def _joined(parts: Sequence[ImageList]) -> ImageList:
    """Join lists that have the same columns."""
    columns = {}
    for name in ("ids", "labels", "templates", "media", "boxes"):
        columns[name] = np.concatenate([getattr(part, name) for part in parts])
    return ImageList(
        paths=tuple(path for part in parts for path in part.paths), **columns
    )
