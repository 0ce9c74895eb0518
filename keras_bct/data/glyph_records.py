"""The kanji of the published split as TFRecords and protocols."""

from __future__ import annotations

import io
import os
import pathlib

import numpy as np
import numpy.typing as npt
from PIL import Image

from keras_bct.data.glyph_set import Glyphs
from keras_bct.data.kanji_split import load_split
from keras_bct.data.records import ImageRecords, write_records
from keras_bct.data.typefaces import load_typefaces

_PROTOCOL = """\
# {part} kanji: no character of this protocol was trained on, every typeface was.
# A sixth of the characters have queries only: they are the probes without a mate.
name: kanji-{part}
queries: {{source: tfrecord, path: {part}-queries.tfrecord, camera: camera}}
gallery: {{source: tfrecord, path: {part}-gallery.tfrecord, camera: camera}}
distance: cosine
metrics:
  - retrieval/mAP
  - verification/TAR@FAR=0.001
  - identification/TPIR@FPIR=0.01
gate:
  metrics: [retrieval/mAP]
  confidence: 0.95
"""


def write_directory(
    directory: str | os.PathLike[str], glyphs: Glyphs
) -> list[pathlib.Path]:
    """Write the TFRecords and protocols of the published split.

    `train-old` and `train` hold every typeface. The queries of `validation` and
    `test` are drawn in the query faces, their galleries in the gallery faces and
    without the characters that have no mate.

    Args:
        directory: made when it is not there.
        glyphs: the kanji; typefaces without a role are trained on only.

    Returns:
        The files that it wrote.
    """
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    written: list[pathlib.Path] = []

    def write(name: str, chosen: Glyphs) -> None:
        written.append(directory / f"{name}.tfrecord")
        write_records(written[-1], to_records(chosen))

    split = load_split()
    roles = {face.name: face.role for face in load_typefaces()}
    faces = {
        role: [name for name in glyphs.typefaces if roles.get(name) == role]
        for role in ("query", "gallery")
    }
    for part in ("train_old", "train"):
        write(part.replace("_", "-"), glyphs.split(part))
    for part in ("validation", "test"):
        characters = split.characters(part)
        mated = [c for c in characters if c not in split.queries_only]
        queries = glyphs.select(characters=characters, typefaces=faces["query"])
        gallery = glyphs.select(characters=mated, typefaces=faces["gallery"])
        write(f"{part}-queries", queries)
        write(f"{part}-gallery", gallery)
        written.append(directory / f"kanji-{part}.yaml")
        written[-1].write_text(_PROTOCOL.format(part=part), encoding="utf-8")
    return written


def to_records(glyphs: Glyphs) -> ImageRecords:
    """Turn kanji into PNG records with ids such as `U+4E9C/klee-semibold`.

    Pictures of nothing but 0, which their face lacks, are left out.
    """
    drawn = np.argwhere(glyphs.images.any(axis=(2, 3)))
    characters = [glyphs.characters[row] for row, _ in drawn]
    typefaces = [glyphs.typefaces[column] for _, column in drawn]
    return ImageRecords(
        ids=np.array(
            [
                f"U+{ord(character):04X}/{face}"
                for character, face in zip(characters, typefaces, strict=True)
            ]
        ),
        images=[_png(glyphs.images[row, column]) for row, column in drawn],
        labels=np.array(characters),
        cameras=np.array(typefaces),
    )


def _png(picture: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    return buffer.getvalue()
