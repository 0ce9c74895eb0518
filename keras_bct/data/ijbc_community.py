"""IJB-C as the community passes it on."""

from __future__ import annotations

import dataclasses
import os
import pathlib

import numpy as np
import numpy.typing as npt

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
from keras_bct.data.line_error import LineError, read_fields, whole_number

_PAIR_LINE = "two templates and 1 (one person) or 0 (two people)"
_FACE_LINE = "a picture, its template and its medium, such as 1.jpg 1 69544"


class CommunityLayout:
    """Loose crops, with landmarks in a file of their own."""

    def __init__(self, root: pathlib.Path) -> None:
        self._meta = root / "meta"
        self._crops = root / "loose_crop"
        names, templates, media = self._read_faces()
        landmarks = self._read_landmarks(names)
        self._templates = np.array(templates, np.int64)
        self._faces = ImageList(
            ids=np.array(names),
            paths=tuple(os.path.join(self._crops, name) for name in names),
            # The subjects, once it is known which templates count.
            labels=np.array([""] * len(names)),
            templates=self._templates.astype(np.str_),
            media=np.array(media),
            landmarks=landmarks,
        )
        self._subjects: dict[int, str] = {}

    def listed(self, name: str) -> ImageList:
        """Return the pictures of the templates of one file."""
        path = self._meta / name
        subjects: dict[str, str] = {}
        known = set(self._templates.tolist())
        for line, row in read_rows(path, TEMPLATE_COLUMNS):
            template, _ = template_of(path, line, row, subjects)
            if int(template) not in known:
                raise LineError(
                    path, line, "a template of ijbc_face_tid_mid.txt", template
                )
        if not subjects:
            raise LineError(path, 2, "a template", "the end of the file")
        self._subjects.update((int(t), subject) for t, subject in subjects.items())
        return self.pictures(np.array([int(template) for template in subjects]))

    def pairs(self) -> Integers:
        """Return the templates of 1:1, int64 (pairs, 2)."""
        path = self._meta / "ijbc_template_pair_label.txt"
        table = read_numbers(path, " ", 3, _PAIR_LINE)
        wrong = np.flatnonzero(table[:, 2] > 1)
        if len(wrong):
            raise LineError(
                path, int(wrong[0]) + 1, _PAIR_LINE, f"{table[wrong[0]].tolist()}"
            )
        pairs, same = table[:, :2], table[:, 2] == 1
        refuse_unknown(path, pairs, np.unique(self._templates))
        self._name_subjects(pairs[same])
        # Numbers for the subjects, to compare millions of pairs at once.
        numbers: dict[str, int] = {}
        top = int(self._templates.max()) + 1
        subject_of = np.full(top, -1, np.int64)
        for template, subject in self._subjects.items():
            subject_of[template] = numbers.setdefault(subject, len(numbers))
        first, second = subject_of[pairs[:, 0]], subject_of[pairs[:, 1]]
        clash = np.flatnonzero((first == second) != same)
        if len(clash):
            line = int(clash[0])
            raise LineError(
                path,
                line + 1,
                "a label that fits the templates' subjects, "
                f"{int(first[line] == second[line])}",
                str(int(same[line])),
            )
        return pairs

    def pictures(self, templates: Integers) -> ImageList:
        """Return the pictures of some templates, whose subjects are known by now."""
        rows = np.flatnonzero(np.isin(self._templates, templates))
        subjects = [self._subjects[t] for t in self._templates[rows].tolist()]
        return dataclasses.replace(self._faces.take(rows), labels=np.array(subjects))

    def _name_subjects(self, same: Integers) -> None:
        """Read the subjects from the 1:N files, or infer them from the pairs.

        Without the files a subject is called `template-1` after the first of its
        templates: pairs of one person join templates.
        """
        for name in TEMPLATE_FILES:
            if (self._meta / name).is_file():
                self.listed(name)
        unknown = set(self._templates.tolist()) - self._subjects.keys()
        if not unknown:
            return
        parent = {template: template for template in self._templates.tolist()}

        def root(template: int) -> int:
            while parent[template] != template:
                parent[template] = parent[parent[template]]
                template = parent[template]
            return template

        for first, second in same.tolist():
            low, high = sorted((root(first), root(second)))
            parent[high] = low
        # What the files name keeps its name, and so do those joined with it.
        named = {root(template): name for template, name in self._subjects.items()}
        for template in unknown:
            top = root(template)
            self._subjects[template] = named.get(top, f"template-{top}")

    def _read_faces(self) -> tuple[list[str], list[int], list[str]]:
        path = self._meta / "ijbc_face_tid_mid.txt"
        lines: dict[str, int] = {}
        templates, media = [], []
        for line, (name, template, medium) in read_fields(path, 3, _FACE_LINE):
            if name in lines:
                raise LineError(
                    path,
                    line,
                    "a picture of its own",
                    f"{name!r}, which stands on line {lines[name]}",
                )
            lines[name] = line
            templates.append(whole_number(path, line, template, _FACE_LINE))
            media.append(str(whole_number(path, line, medium, _FACE_LINE)))
            file = os.path.join(self._crops, name)
            if not os.path.isfile(file):
                raise LineError(path, line, "a picture that is there", file)
        if not lines:
            raise LineError(path, 1, _FACE_LINE, "an empty file")
        return list(lines), templates, media

    def _read_landmarks(self, names: list[str]) -> npt.NDArray[np.float32] | None:
        path = self._meta / "ijbc_name_5pts_score.txt"
        if not path.is_file():
            return None
        expected = "a picture, x and y of five landmarks and a score"
        rows = []
        for line, values in read_fields(path, 12, expected):
            if line > len(names) or values[0] != names[line - 1]:
                raise LineError(
                    path,
                    line,
                    "the picture of the same line of ijbc_face_tid_mid.txt",
                    repr(values[0]),
                )
            try:
                rows.append([float(value) for value in values[1:11]])
            except ValueError:
                raise LineError(path, line, expected, " ".join(values)) from None
        if len(rows) != len(names):
            raise LineError(
                path, len(rows) + 1, f"{len(names)} pictures", "the end of the file"
            )
        return np.array(rows, np.float32).reshape(-1, 5, 2)
