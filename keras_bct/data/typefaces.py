"""The typefaces that the glyphs are drawn in, with their licences and families."""

from __future__ import annotations

import csv
import dataclasses
import importlib.resources


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
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return tuple(
        Typeface(
            name=row["name"],
            file=row["file"],
            index=int(row["index"]),
            package=row["package"],
            version=row["version"],
            licence=row["licence"],
            family=row["family"],
            role=row["role"],
        )
        for row in rows
    )
