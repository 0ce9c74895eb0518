"""Which columns of a file are read, and as what."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Columns:
    """The columns of a file that somebody wants, by their names in it.

    Attributes:
        id: The column that names each row; it has no gaps.
        embedding: The column of vectors.
        names: Further columns of text: labels, cameras.
        numbers: Columns of numbers.
        optional: Those of the above that the file may lack.

    Example:
        >>> Columns(names=("label",)).among(["label", "embedding", "id", "price"])
        ['id', 'embedding', 'label']
    """

    id: str = "id"
    embedding: str = "embedding"
    names: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def wanted(self) -> list[str]:
        """Each column once."""
        every = (self.id, self.embedding, *self.names, *self.numbers)
        return list(dict.fromkeys(every))

    def among(self, there: Sequence[str]) -> list[str]:
        """The columns to read from a file that has these.

        Raises:
            ValueError: One is not there, or is there twice.
        """
        return chosen(self.wanted, there, self.optional)


def chosen(
    wanted: Sequence[str], there: Sequence[str], optional: Sequence[str] = ()
) -> list[str]:
    """The wanted columns among those of a file.

    Raises:
        ValueError: One that is not optional is not there, or one is there twice.
    """
    missing = [c for c in wanted if c not in (*there, *optional)]
    if missing:
        raise ValueError(
            f"the columns {', '.join(map(repr, wanted))} are expected. "
            f"Received no {', '.join(map(repr, missing))}; there are "
            f"{', '.join(map(repr, there)) or 'none'}."
        )
    found = [name for name in wanted if name in there]
    for name in found:
        if (times := list(there).count(name)) > 1:
            raise ValueError(
                f"the column {name!r} should be there once. Received: {times} of that "
                "name; rename those that are something else."
            )
    return found
