"""What an adapter says of itself on disk: `adapter.json`, and its files' digests."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from keras_bct.checked_numbers import whole_number
from keras_bct.configuration import from_mapping

DESCRIPTION = "adapter.json"
SAVED_MODEL = "saved_model.pb"
"""Where there is one it is written last: who finds it finds a whole adapter."""

# In this order: the first type that fits is what a stored setting is read as.
Setting = bool | int | str | float | None

_SCHEMA = 1
_WORDS = {
    "direction": ("old-to-new", "new-to-old"),
    "map": ("affine", "residual-mlp", "saved-model"),
}
_PIECE = 2**20


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdapterDescription:
    """The words and numbers of a stored adapter; reading it loads no map.

    Attributes:
        direction: `old-to-new` or `new-to-old`.
        method: The name of the method that fitted the map.
        map: The kind of the map, which says what reads its files.
        settings: What the method was told or chose.
        pairs: How many pairs the map was fitted to.
        old_fingerprint: Of the version that made the old embeddings.
        new_fingerprint: Of the version that made the new embeddings.
        input_size: Components that go in.
        output_size: Components that come out.
        side_size: Components of side information, None where the map takes none.
        has_variance: Whether the map predicts its own error.
        files: SHA-256 in hex of each of the map's files, by path in the directory.

    Raises:
        ValueError: An unknown direction or kind of map, or a number that cannot be.
    """

    direction: str
    method: str
    map: str
    settings: dict[str, Setting]
    pairs: int
    old_fingerprint: str
    new_fingerprint: str
    input_size: int
    output_size: int
    side_size: int | None
    has_variance: bool
    files: dict[str, str]

    def __post_init__(self) -> None:
        """Refuse what nothing could have been saved with."""
        for name, known in _WORDS.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"`{name}` should be one of {', '.join(known)}. Received: "
                    f"{getattr(self, name)!r}; read it with a newer keras_bct."
                )
        for name in ("input_size", "output_size", "side_size"):
            size = getattr(self, name)
            if size is not None:
                whole_number(name, size, least=1)
        whole_number("pairs", self.pairs, least=0)

    def write(self, directory: Path) -> None:
        """Write `adapter.json`."""
        values = {"schema": _SCHEMA, **dataclasses.asdict(self)}
        (directory / DESCRIPTION).write_text(
            json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )

    @classmethod
    def read(cls, directory: str | Path) -> AdapterDescription:
        """Read `adapter.json`.

        Args:
            directory: Holds an adapter.

        Raises:
            FileNotFoundError: There is no adapter in `directory`.
            ValueError: It is no description, or of another schema.
        """
        path = Path(directory) / DESCRIPTION
        if not path.is_file():
            raise FileNotFoundError(
                f"`directory` should hold {DESCRIPTION}, as `save` writes it. "
                f"Received: {directory}."
            )
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} should be JSON. Received: {error}.") from error
        schema = values.pop("schema", None) if isinstance(values, dict) else None
        if schema != _SCHEMA:
            raise ValueError(
                f"{path} should have schema {_SCHEMA}. Received: {schema!r}; read it "
                "with the keras_bct that wrote it, or a newer one."
            )
        try:
            return from_mapping(cls, values, source=DESCRIPTION)
        except ValueError as error:
            raise ValueError(f"{directory}: {error}") from error

    def check_files(self, directory: str | Path) -> None:
        """See that the map's files are there and are those that were saved.

        Args:
            directory: Holds them.

        Raises:
            ValueError: A file is missing or was changed: a copy that was cut off, or
                files of two adapters in one directory.
        """
        for name, digest in self.files.items():
            path = Path(directory) / name
            if not path.is_file():
                raise ValueError(_torn(directory, f"no {name}"))
            if file_digest(path) != digest:
                raise ValueError(_torn(directory, f"another {name} than was saved"))


def plain_setting(name: str, value: Any) -> Setting:
    """Give a setting as JSON has it.

    Args:
        name: The setting's.
        value: Plain, or a NumPy number.

    Raises:
        ValueError: JSON has no such value.

    Example:
        >>> plain_setting("rank", np.int64(3))
        3
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, bool | int | str):
        return plain
    if isinstance(plain, float) and math.isfinite(plain):
        return plain
    raise ValueError(
        f"`settings` should have a finite number, a word, True, False or None by each "
        f"name, as JSON has them. Received: {name!r}: {plain!r}."
    )


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _torn(directory: str | Path, received: str) -> str:
    return (
        f"`directory` should hold the files that {DESCRIPTION} lists. Received: "
        f"{directory} with {received}; copy or save the adapter again."
    )
