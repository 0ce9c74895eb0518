"""The typefaces that the glyphs are drawn in, with their licences and families."""

from __future__ import annotations

import csv
import dataclasses
import importlib.resources

ROLES = ("query", "gallery", "")


@dataclasses.dataclass(frozen=True)
class Typeface:
    """One typeface, as the Debian package that carries it has it.

    Attributes:
        name: the camera name in ids, records and protocols.
        file: absolute path of the font file once the package is installed.
        index: number of the face within a font collection.
        package: the Debian package.
        version: the package's version that the embedded set was drawn from.
        licence: one of `OFL-1.1`, `Apache-2.0`, `MIT`, `IPA`, `public domain`.
        family: faces that look alike share it; see `draw_glyphs.families`.
        role: `query` or `gallery` for the faces of the embedded set, else empty.
    """

    name: str
    file: str
    index: int
    package: str
    version: str
    licence: str
    family: str
    role: str


def load_typefaces() -> tuple[Typeface, ...]:
    """Read the table of typefaces, sorted by name.

    >>> len({face.name for face in load_typefaces()})
    60
    """
    table = importlib.resources.files(__package__).joinpath("typefaces.csv")
    with table.open(encoding="utf-8", newline="") as rows:
        return tuple(
            Typeface(**{**row, "index": int(row["index"])})
            for row in csv.DictReader(rows)
        )


def embedded_typefaces() -> tuple[Typeface, ...]:
    """Return the typefaces of the embedded set, in the order of its second axis."""
    return tuple(face for face in load_typefaces() if face.role)
