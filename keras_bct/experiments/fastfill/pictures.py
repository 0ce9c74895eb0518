"""The pictures of FastFill's experiments: seen classes in unseen typefaces, and others.

Models train on 19 typefaces, maps on the same pictures and changed copies of them. The
six query faces of the published split, whose families no training face shares, are what
they are tested on: on the 600 training characters (seen classes) and on the 600 test
characters (unseen ones). Choices are made on the 200 validation characters in the query
faces, and, where seen classes are meant, on the training characters in three typefaces
that are neither trained on nor tested.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.data import Glyphs, glyphs, write_records
from keras_bct.data.glyph_records import to_records
from keras_bct.data.kanji_split import load_split
from keras_bct.data.typefaces import load_typefaces
from keras_bct.experiments.fastfill.changed_copies import with_changed_copies
from keras_bct.written_whole import written_whole

VALIDATION_FACES = ("klee-semibold", "reggae", "sawarabi-mincho")
"""Of the gallery faces: a pen, a brush and a printed one, each alone in its family."""

OLD_CLASSES = 150
"""Of the weak old model: the first of the 600 training characters."""

SCARCE_CLASSES, PLENTIFUL_CLASSES = 30, 300
"""Of the biased old model: a tenth of one group's characters, all of the other's.

The dense are the scarce ones: light ones are easier for every model, so that a model
that knows few of them is hardly worse at them.
"""

DENSE, LIGHT = "dense", "light"
"""The two groups: characters with more ink than the median training one, and less."""

TRAINING_PARTS = ("old", "new", "disjoint-new", "biased-old")
MAP_PARTS = ("new-and-copies", "disjoint-new-and-copies")
"""What maps are fitted to: a new model's training pictures, and changed copies."""
TEST_PARTS = ("seen", "unseen", "disjoint-seen")
VALIDATION_PARTS = ("validation-seen", "validation-unseen")

_AND_COPIES = "-and-copies"


def prepare(directory: str | os.PathLike[str]) -> Path:
    """Writes what is missing of the TFRecords.

    Args:
        directory: Made when it is not there; files that are there stay as they are.

    Returns:
        The directory.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    wanted = (*TRAINING_PARTS, *MAP_PARTS, *TEST_PARTS, *VALIDATION_PARTS)
    missing = [part for part in wanted if not (directory / f"{part}.tfrecord").exists()]
    if missing:
        kanji = glyphs.load()
        for part in missing:
            characters, typefaces = choice(part.removesuffix(_AND_COPIES), kanji)
            chosen = kanji.select(characters=characters, typefaces=typefaces)
            records = to_records(chosen)
            if part in MAP_PARTS:
                height, width = kanji.images.shape[2:]
                records = with_changed_copies(records, (height, width, 1))
            with written_whole(directory / f"{part}.tfrecord") as unfinished:
                write_records(unfinished, records)
    return directory


def groups(characters: tuple[str, ...], kanji: Glyphs) -> npt.NDArray[Any]:
    """Gives the group of each character.

    Args:
        characters: Any of the embedded ones.
        kanji: All of them.

    Returns:
        `(n,)`: `DENSE` or `LIGHT`.
    """
    median = np.median(_ink(load_split().train, kanji))
    return np.where(_ink(characters, kanji) > median, DENSE, LIGHT)


def _ink(characters: tuple[str, ...], kanji: Glyphs) -> npt.NDArray[Any]:
    """Mean darkness over the training faces, one number a character."""
    drawn = kanji.select(characters=characters, typefaces=_faces(kanji)["train"])
    return np.asarray(drawn.images.mean(axis=(1, 2, 3)))


def _faces(kanji: Glyphs) -> dict[str, list[str]]:
    roles = {face.name: face.role for face in load_typefaces()}
    gallery = [name for name in kanji.typefaces if roles[name] == "gallery"]
    return {
        "train": [name for name in gallery if name not in VALIDATION_FACES],
        "validation": list(VALIDATION_FACES),
        "test": [name for name in kanji.typefaces if roles[name] == "query"],
    }


def choice(part: str, kanji: Glyphs) -> tuple[tuple[str, ...], list[str]]:
    """Gives the characters and the typefaces of a part.

    Args:
        part: One of `TRAINING_PARTS`, `TEST_PARTS` or `VALIDATION_PARTS`.
        kanji: All of the embedded ones.
    """
    split = load_split()
    faces = _faces(kanji)
    if part == "biased-old":
        group = groups(split.train, kanji)
        train = np.array(split.train)
        chosen = {
            *train[group == DENSE][:SCARCE_CLASSES],
            *train[group == LIGHT][:PLENTIFUL_CLASSES],
        }
        return tuple(name for name in split.train if name in chosen), faces["train"]
    return {
        "old": (split.train[:OLD_CLASSES], faces["train"]),
        "new": (split.train, faces["train"]),
        "disjoint-new": (split.train[OLD_CLASSES:], faces["train"]),
        "seen": (split.train, faces["test"]),
        "unseen": (split.test, faces["test"]),
        "disjoint-seen": (split.train[OLD_CLASSES:], faces["test"]),
        "validation-seen": (split.train, faces["validation"]),
        "validation-unseen": (split.validation, faces["test"]),
    }[part]
