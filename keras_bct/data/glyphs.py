"""The embedded kanji: 1,400 characters in 28 typefaces, 32 x 32 grey.

    python -m keras_bct.data.glyphs DIRECTORY

writes the TFRecords and the protocols of the published split.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.resources
import io
import os
import pathlib
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.data.kanji_split import load_split

_EMBEDDED_SHA256 = "c596900d051e2cb242211798dc88ca0ecc17496edda0b6e5abcc60fa97f0a504"


@dataclasses.dataclass(frozen=True, eq=False)
class Glyphs:
    """Pictures of characters (the identities) in typefaces (the cameras).

    Attributes:
        images: uint8, shape (characters, typefaces, 32, 32), ink 255 on 0, in
            steps of 17. A picture of nothing but 0 is one that its face lacks;
            the embedded set has none.
        characters: the first axis.
        typefaces: the second axis.
    """

    images: npt.NDArray[np.uint8]
    characters: tuple[str, ...]
    typefaces: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the shape."""
        expected = (len(self.characters), len(self.typefaces))
        if self.images.dtype != np.uint8 or self.images.shape[:2] != expected:
            raise ValueError(
                "`images` should be uint8 of shape (characters, typefaces, height, "
                f"width), here {expected} + (height, width). Received: "
                f"{self.images.dtype} of shape {self.images.shape}"
            )

    def split(self, part: str) -> Glyphs:
        """Return the characters of one part of the published split.

        Args:
            part: `train_old`, `train`, `validation` or `test`.

        >>> load().split("train_old").images.shape
        (300, 28, 32, 32)
        """
        return self.select(characters=load_split().characters(part))

    def select(
        self,
        *,
        characters: Sequence[str] | None = None,
        typefaces: Sequence[str] | None = None,
    ) -> Glyphs:
        """Return the named characters and typefaces, in the order given.

        Raises:
            ValueError: a name that this set does not have.
        """
        characters = self.characters if characters is None else tuple(characters)
        typefaces = self.typefaces if typefaces is None else tuple(typefaces)
        rows = _positions("characters", characters, self.characters)
        columns = _positions("typefaces", typefaces, self.typefaces)
        return Glyphs(self.images[np.ix_(rows, columns)], characters, typefaces)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set as one compressed `.npz`, two pixels to the byte."""
        levels = self.images // 17
        np.savez_compressed(
            path,
            pixel_pairs=levels[..., ::2] << 4 | levels[..., 1::2],
            characters=np.array(self.characters),
            typefaces=np.array(self.typefaces),
        )


def load(path: str | os.PathLike[str] | None = None) -> Glyphs:
    """Load the embedded kanji, or a set that `draw_glyphs` wrote.

    Args:
        path: a file of `Glyphs.save`; by default the embedded one, whose SHA-256
            is checked.

    Returns:
        1,400 characters in 28 typefaces, or what the file holds.

    Raises:
        ValueError: the embedded file is not the published one.

    >>> load().images.shape
    (1400, 28, 32, 32)
    """
    if path is None:
        packed = importlib.resources.files(__package__).joinpath("glyphs.npz")
        content = packed.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != _EMBEDDED_SHA256:
            raise ValueError(
                f"{packed} should have the SHA-256 {_EMBEDDED_SHA256}. Received: "
                f"{digest}. The file was changed or cut short: install keras-bct anew."
            )
    else:
        content = pathlib.Path(path).read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        pairs = stored["pixel_pairs"]
        levels = np.stack([pairs >> 4, pairs & 15], axis=-1)
        return Glyphs(
            images=levels.reshape(*pairs.shape[:-1], 2 * pairs.shape[-1])
            * np.uint8(17),
            characters=tuple(stored["characters"].tolist()),
            typefaces=tuple(stored["typefaces"].tolist()),
        )


def _positions(
    argument: str, wanted: Sequence[str], present: Sequence[str]
) -> list[int]:
    where = {name: position for position, name in enumerate(present)}
    missing = [name for name in wanted if name not in where]
    if missing:
        raise ValueError(
            f"`{argument}` should be among this set's {len(present)}. "
            f"Received {len(missing)} that are not, the first: {missing[0]!r}"
        )
    return [where[name] for name in wanted]


def _main(arguments: Sequence[str]) -> int:
    from keras_bct.data import glyph_records

    return glyph_records.run(arguments)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
