"""Draw kanji in the typefaces of Debian's font packages.

    python -m keras_bct.data.draw_glyphs OUT [--characters 1400|all]
                                             [--faces embedded|all|NAME,NAME...]

draws the set that `glyphs.load` embeds again, or a larger one for whoever has
the fonts; `docs/data.md` has the apt-get line that installs them. A picture is
32 x 32, ink 255 on 0, in 16 grey levels. Every face has one scale, at which the
median character spans 26 pixels, so that a face's own small and large characters
stay small and large; every character stands with its ink in the middle.
"""

from __future__ import annotations

import argparse
import collections
import functools
import multiprocessing
import pathlib
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import ImageFont

from keras_bct.command_line import escape_what_cannot_be_printed
from keras_bct.data.glyph_set import Glyphs
from keras_bct.data.kanji_split import load_split
from keras_bct.data.typefaces import Typeface, load_typefaces

SIDE = 32
# Drawn four times as large, then averaged: Pillow's own small sizes are hinted
# to the pixel grid, and their greys would depend on where the glyph falls.
_OVERSAMPLING = 4
_CANVAS = SIDE * _OVERSAMPLING
_MEDIAN_EXTENT = 26 * _OVERSAMPLING
_LARGEST_EXTENT = 31 * _OVERSAMPLING
_TRIAL_SIZE = 64
# The likeness from which two faces count as one design.
ALIKE = 0.9
_FIRST_KU, _LAST_KU = 16, 47
# A code point that Unicode will never assign, so no face has a glyph for it.
_UNASSIGNED = "\U0010ffff"

GreyPictures = npt.NDArray[np.uint8]


def jis_level_1() -> tuple[str, ...]:
    """Return the 2,965 kanji of JIS X 0208 level 1, in the order of the standard.

    >>> len(jis_level_1()), jis_level_1()[0], jis_level_1()[-1]
    (2965, '亜', '腕')
    """
    cells = (
        bytes([0xA0 + ku, 0xA0 + ten])
        for ku in range(_FIRST_KU, _LAST_KU + 1)
        for ten in range(1, 95)
    )
    # Row 47 ends after cell 51; the empty cells do not decode.
    return tuple(
        character for cell in cells if (character := cell.decode("euc_jp", "ignore"))
    )


def draw(face: Typeface, characters: Sequence[str]) -> GreyPictures:
    """Draw characters in one face.

    The scale is the median over JIS level 1 whatever `characters` holds, so
    that a picture does not depend on which others are drawn with it.

    Args:
        face: the typeface; its file must be installed.
        characters: one-character strings, n of them.

    Returns:
        uint8 pictures, shape (n, 32, 32), ink 255. A character that the face
        lacks is all 0.

    Raises:
        FileNotFoundError: the font's package is not installed.
    """
    size, lacking = _survey(face)
    font = _font(face, size)
    pictures = np.zeros((len(characters), SIDE, SIDE), np.uint8)
    for row, character in enumerate(characters):
        if character in lacking:
            continue
        ink = _ink(font, character)
        if max(ink.shape) > _LARGEST_EXTENT:
            smaller = int(size * _LARGEST_EXTENT / max(ink.shape))
            ink = _ink(_font(face, smaller), character)
        pictures[row] = _centred(ink)
    return pictures


@functools.cache
def _survey(face: Typeface) -> tuple[int, frozenset[str]]:
    """Return the size to draw a face at, and which of JIS level 1 it lacks."""
    if not pathlib.Path(face.file).is_file():
        raise FileNotFoundError(
            f"The typeface `{face.name}` needs the file {face.file}, which is not "
            f"there. Install it with: apt-get install {face.package}"
        )
    font = _font(face, _TRIAL_SIZE)
    inks = {character: _ink(font, character) for character in jis_level_1()}
    absent = _ink(font, _UNASSIGNED).tobytes()
    # Some faces fill their gaps with one placeholder instead of .notdef.
    copies = collections.Counter(ink.tobytes() for ink in inks.values())
    lacking = frozenset(
        character
        for character, ink in inks.items()
        if not ink.size or ink.tobytes() == absent or copies[ink.tobytes()] > 1
    )
    extents = [max(ink.shape) for c, ink in inks.items() if c not in lacking]
    size = round(_TRIAL_SIZE * _MEDIAN_EXTENT / float(np.median(extents)))
    return size, lacking


def alike_across_families(
    pictures: GreyPictures, faces: Sequence[Typeface]
) -> list[tuple[str, str, float]]:
    """Find faces that look alike but are not of one family in the table.

    A family holds the copies and weights of one design, and is either all among the
    query faces or all among the gallery faces: else a query would find its own
    drawing in the gallery.

    Args:
        pictures: uint8, shape (characters, faces, 32, 32).
        faces: the faces, in the order of the second axis.

    Returns:
        Pairs of names with their `likeness`, where that is at least 0.9.
    """
    alike = likeness(pictures)
    return [
        (one.name, other.name, float(alike[i, j]))
        for i, one in enumerate(faces)
        for j, other in enumerate(faces[:i])
        if alike[i, j] >= ALIKE and one.family != other.family
    ]


def likeness(pictures: GreyPictures) -> npt.NDArray[np.float64]:
    """Return the mean correlation between the faces' pictures of one character.

    Measured on the table's faces: copies are at 0.99 and above, neighbouring weights
    of one design between 0.92 and 0.98, different designs below 0.9 (gothics up to
    0.89, handwriting against handwriting about 0.6).

    Args:
        pictures: uint8, shape (characters, faces, 32, 32), none of them blank.

    Returns:
        float64, shape (faces, faces), symmetric with a diagonal of 1.
    """
    count, faces = pictures.shape[:2]
    total = np.zeros((faces, faces), np.float64)
    for character in pictures:
        rows = character.reshape(faces, -1).astype(np.float64)
        rows -= rows.mean(axis=1, keepdims=True)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        total += rows @ rows.T
    mean: npt.NDArray[np.float64] = total / count
    return mean


def _font(face: Typeface, size: int) -> ImageFont.FreeTypeFont:
    # Raqm would shape by language and is not in every Pillow; BASIC is.
    return ImageFont.truetype(
        face.file, size, index=face.index, layout_engine=ImageFont.Layout.BASIC
    )


def _ink(font: ImageFont.FreeTypeFont, character: str) -> GreyPictures:
    """Return the smallest array around a character's ink, shape (h, w)."""
    mask = font.getmask(character, mode="L")
    width, height = mask.size
    ink = np.frombuffer(bytes(mask), np.uint8).reshape(height, width)
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not rows.size:
        return np.zeros((0, 0), np.uint8)
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _centred(ink: GreyPictures) -> GreyPictures:
    """Put ink in the middle of the canvas and average it down to 16 greys."""
    height, width = ink.shape
    canvas = np.zeros((_CANVAS, _CANVAS))
    top, left = (_CANVAS - height) // 2, (_CANVAS - width) // 2
    canvas[top : top + height, left : left + width] = ink
    blocks = canvas.reshape(SIDE, _OVERSAMPLING, SIDE, _OVERSAMPLING)
    levels = np.rint(blocks.mean(axis=(1, 3)) / 17)
    return np.asarray(levels * 17, np.uint8)


def _faces(wanted: str) -> tuple[Typeface, ...]:
    table = load_typefaces()
    if wanted == "all":
        return table
    if wanted == "embedded":
        return tuple(face for face in table if face.role)
    by_name = {face.name: face for face in table}
    unknown = [name for name in wanted.split(",") if name not in by_name]
    if unknown:
        raise ValueError(
            "`--faces` should be `embedded`, `all` or names of typefaces.csv. "
            f"Received: {', '.join(unknown)}"
        )
    return tuple(by_name[name] for name in wanted.split(","))


def run(arguments: Sequence[str]) -> int:
    """Draw what the command line asks for and write it to one file."""
    escape_what_cannot_be_printed()
    parser = argparse.ArgumentParser(
        prog="python -m keras_bct.data.draw_glyphs",
        description="Draw kanji in the typefaces of Debian's font packages.",
        epilog="Example: python -m keras_bct.data.draw_glyphs kanji.npz "
        "--characters all --faces all",
    )
    parser.add_argument("out", type=pathlib.Path, help="the .npz file to write")
    parser.add_argument("--characters", choices=("1400", "all"), default="1400")
    parser.add_argument("--faces", default="embedded")
    options = parser.parse_args(arguments)
    try:
        faces = _faces(options.faces)
        # One missing package should be known before the first face is drawn.
        missing = sorted(
            {face.package for face in faces if not pathlib.Path(face.file).is_file()}
        )
        if missing:
            raise FileNotFoundError(
                "Some typefaces are not installed. Install them with: apt-get install "
                + " ".join(missing)
            )
    except (ValueError, FileNotFoundError) as error:
        print(f"draw_glyphs: {error}", file=sys.stderr)
        return 2
    characters = jis_level_1()
    if options.characters == "1400":
        split = load_split()
        kept = {*split.train, *split.validation, *split.test}
        characters = tuple(c for c in characters if c in kept)
    with multiprocessing.Pool() as pool:
        columns = []
        drawn = pool.imap(functools.partial(draw, characters=characters), faces)
        for face, pictures in zip(faces, drawn, strict=True):
            lacking = int((~pictures.any(axis=(1, 2))).sum())
            print(f"{face.name}: {len(characters) - lacking} characters", flush=True)
            columns.append(pictures)
    images = np.stack(columns, axis=1)
    complete = np.all(np.any(images, axis=(2, 3)), axis=1)
    for one, other, alike in alike_across_families(images[complete], faces):
        print(f"{one} and {other} are alike ({alike:.2f}): make them one family")
    Glyphs(images, characters, tuple(face.name for face in faces)).save(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
