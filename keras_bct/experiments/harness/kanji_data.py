"""The pictures of the tables: the kanji's published split, and a quarter of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from keras_bct.data import glyphs, write_records
from keras_bct.data.glyph_records import to_records, write_directory
from keras_bct.data.kanji_split import load_split
from keras_bct.written_whole import written_whole

QUARTER = 150
"""Characters of `train-quarter`: the first of the old model's 300."""

TRAINING_PARTS = ("train-quarter", "train-old", "train")
"""25, 50 and 100 % of the training characters."""


def prepare(directory: str | os.PathLike[str]) -> Path:
    """Writes what is missing of the kanji's TFRecords and protocols.

    Args:
        directory: Made when it is not there; files that are there stay as they are.

    Returns:
        The directory.
    """
    directory = Path(directory)
    if not (directory / "kanji-test.yaml").exists():
        write_directory(directory, glyphs.load())
    quarter = directory / "train-quarter.tfrecord"
    if not quarter.exists():
        characters = load_split().train[:QUARTER]
        chosen = glyphs.load().select(characters=characters)
        with written_whole(quarter) as unfinished:
            write_records(unfinished, to_records(chosen))
    return directory


def digest(path: Path) -> str:
    """Gives the SHA-256 (hex) of a file.

    Raises:
        FileNotFoundError: There is no such file.
    """
    with path.open("rb") as file:
        # hashlib.file_digest is there from Python 3.11 on.
        sha256 = hashlib.sha256()
        while block := file.read(1 << 20):
            sha256.update(block)
    return sha256.hexdigest()
