"""The two forms in which IJB-C goes about: NIST's and the community's."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.data.csv_list import read_rows
from keras_bct.data.image_list import ImageList
from keras_bct.data.line_error import LineError, read_fields, read_lines, whole_number

Integers = npt.NDArray[np.int64]

# Of the pairs in 1:1: the first templates are in the galleries.
_TEMPLATE_FILES = (
    "ijbc_1N_gallery_G1.csv",
    "ijbc_1N_gallery_G2.csv",
    "ijbc_1N_probe_mixed.csv",
)
_TEMPLATE_COLUMNS = ["TEMPLATE_ID", "SUBJECT_ID"]
_BOX_COLUMNS = ["FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT"]
_PAIR_LINE = "two templates and 1 (one person) or 0 (two people)"
_FACE_LINE = "a picture, its template and its medium, such as 1.jpg 1 69544"


def open_layout(directory: str | os.PathLike[str]) -> NistLayout | CommunityLayout:
    """Tell by its folders in which form IJB-C is there.

    Raises:
        FileNotFoundError: in neither; the message says what was looked for.
    """
    root = pathlib.Path(directory)
    if (root / "protocols").is_dir():
        return NistLayout(root)
    if (root / "meta").is_dir():
        return CommunityLayout(root)
    raise FileNotFoundError(
        "IJB-C should have the folders protocols and images (as NIST distributes it) "
        f"or meta and loose_crop. Received: neither protocols nor meta in {root}"
    )


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
        pairs = _read_numbers(path, ",", 2, "two templates: of a gallery and a probe")
        _, templates = self._all
        _refuse_unknown(path, pairs, np.unique(templates))
        return pairs

    def pictures(self, templates: Integers) -> ImageList:
        """Return the pictures of some templates."""
        pictures, template_of = self._all
        return pictures.take(np.isin(template_of, templates))

    @functools.cached_property
    def _all(self) -> tuple[ImageList, Integers]:
        """Return the pictures of both galleries and the probes, and their templates."""
        joined = _joined([self.listed(name) for name in _TEMPLATE_FILES])
        return joined, np.array(joined.templates, np.int64)

    def _read_list(self, path: pathlib.Path) -> ImageList:
        columns = [*_TEMPLATE_COLUMNS, "FILENAME", "SIGHTING_ID", *_BOX_COLUMNS]
        subjects: dict[str, str] = {}
        lines: dict[str, int] = {}
        paths, labels, templates, media, boxes = [], [], [], [], []
        for line, row in read_rows(path, columns):
            template, subject = _template_of(path, line, row, subjects)
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
        for line, row in read_rows(path, _TEMPLATE_COLUMNS):
            template, _ = _template_of(path, line, row, subjects)
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
        table = _read_numbers(path, " ", 3, _PAIR_LINE)
        wrong = np.flatnonzero(table[:, 2] > 1)
        if len(wrong):
            raise LineError(
                path, int(wrong[0]) + 1, _PAIR_LINE, f"{table[wrong[0]].tolist()}"
            )
        pairs, same = table[:, :2], table[:, 2] == 1
        _refuse_unknown(path, pairs, np.unique(self._templates))
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
        for name in _TEMPLATE_FILES:
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


def _template_of(
    path: pathlib.Path, line: int, row: dict[str, str], subjects: dict[str, str]
) -> tuple[str, str]:
    """Return a line's template and subject; one template has one subject."""
    expected = "numbers in TEMPLATE_ID and SUBJECT_ID"
    template, subject = (
        str(whole_number(path, line, row[column], expected))
        for column in _TEMPLATE_COLUMNS
    )
    if subjects.setdefault(template, subject) != subject:
        raise LineError(
            path,
            line,
            f"the subject of template {template}, {subjects[template]}",
            subject,
        )
    return template, subject


def _read_numbers(
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


def _refuse_unknown(path: pathlib.Path, pairs: Integers, known: Integers) -> None:
    unknown = np.argwhere(~np.isin(pairs, known))
    if len(unknown):
        line, column = unknown[0]
        raise LineError(
            path,
            int(line) + 1,
            "templates that have pictures",
            f"template {pairs[line, column]}, which has none",
        )


def _joined(parts: Sequence[ImageList]) -> ImageList:
    """Join lists that have the same columns."""
    columns = {}
    for name in ("ids", "labels", "templates", "media", "boxes"):
        columns[name] = np.concatenate([getattr(part, name) for part in parts])
    return ImageList(
        paths=tuple(path for part in parts for path in part.paths), **columns
    )
