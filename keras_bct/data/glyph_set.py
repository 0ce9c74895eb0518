"""Pictures of characters in typefaces, held as one array."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.data.kanji_split import load_split


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

        >>> from keras_bct.data import glyphs
        >>> glyphs.load().split("train_old").images.shape
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
