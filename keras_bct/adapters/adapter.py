"""Adapters: a fitted map between two embedding spaces that knows both sides.

The two directions are two types, so that neither a type checker nor `load` lets one
stand for the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.affine_map import AffineMap

_A = TypeVar("_A", bound="_Adapter")

_SCHEMA = 1
_DESCRIPTION = "adapter.json"
_MATRIX = "adapter_matrix.npy"
_OFFSET = "adapter_offset.npy"
_FIELDS = frozenset(
    {
        "schema",
        "direction",
        "method",
        "settings",
        "pairs",
        "old_fingerprint",
        "new_fingerprint",
    }
)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Adapter:
    """What both directions share.

    Attributes:
        affine_map: The map itself.
        old_fingerprint: Of the version that made the old embeddings.
        new_fingerprint: Of the version that made the new embeddings.
        method: The name of the method that fitted the map.
        settings: What the method was told or chose, numbers by name.
        pairs: How many pairs the map was fitted to.
    """

    affine_map: AffineMap
    old_fingerprint: str
    new_fingerprint: str
    method: str
    pairs: int
    settings: Mapping[str, float] = field(default_factory=dict)

    direction: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse sides that nothing could tell apart."""
        check_fingerprints(self.old_fingerprint, self.new_fingerprint)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def save(self, directory: str | Path) -> None:
        """Write `adapter.json`, `adapter_matrix.npy` and `adapter_offset.npy`.

        Args:
            directory: Made when it does not exist; files of the same names are
                replaced, the description last.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        # Without its description an adapter that was cut off is none.
        (directory / _DESCRIPTION).unlink(missing_ok=True)
        np.save(directory / _MATRIX, self.affine_map.matrix, allow_pickle=False)
        np.save(directory / _OFFSET, self.affine_map.offset, allow_pickle=False)
        description = {
            "schema": _SCHEMA,
            "direction": self.direction,
            "method": self.method,
            "settings": dict(self.settings),
            "pairs": self.pairs,
            "old_fingerprint": self.old_fingerprint,
            "new_fingerprint": self.new_fingerprint,
        }
        (directory / _DESCRIPTION).write_text(
            json.dumps(description, ensure_ascii=False, indent=1) + "\n",
            encoding="utf-8",
        )

    @classmethod
    def load(cls: type[_A], directory: str | Path) -> _A:
        """Read what `save` wrote.

        Args:
            directory: Holds `adapter.json`.

        Raises:
            FileNotFoundError: There is no adapter in `directory`.
            ValueError: The adapter is of the other direction, of another schema, or
                its files do not fit together.
        """
        directory = Path(directory)
        path = directory / _DESCRIPTION
        if not path.is_file():
            raise FileNotFoundError(
                f"`directory` should hold {_DESCRIPTION}, as `save` writes it. "
                f"Received: {directory}."
            )
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if description.get("schema") != _SCHEMA:
            raise ValueError(
                f"{path} should have schema {_SCHEMA}. Received: "
                f"{description.get('schema')!r}; read it with a newer keras_bct."
            )
        if set(description) != _FIELDS:
            raise ValueError(
                f"{path} should have exactly the keys {sorted(_FIELDS)}. Received: "
                f"{sorted(description)}."
            )
        if description["direction"] != cls.direction:
            raise ValueError(
                f"`directory` should hold an adapter {cls.direction}. Received: "
                f"{directory}, which is {description['direction']}; load it with the "
                "class of that direction."
            )
        return cls(
            affine_map=AffineMap(
                np.load(directory / _MATRIX, allow_pickle=False),
                np.load(directory / _OFFSET, allow_pickle=False),
            ),
            **{name: description[name] for name in _FIELDS - {"schema", "direction"}},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class OldToNew(_Adapter):
    """An adapter that takes old embeddings into the new model's space.

    Attributes:
        affine_map: The map itself.
        old_fingerprint: Of the version that made the old embeddings.
        new_fingerprint: Of the version that made the new embeddings.
        method: The name of the method that fitted the map.
        settings: What the method was told or chose, numbers by name.
        pairs: How many pairs the map was fitted to.

    Raises:
        ValueError: A fingerprint is empty, or both are the same.

    Example:
        >>> adapter = OldToNew(
        ...     affine_map=AffineMap(2 * np.eye(2), np.zeros(2)), method="by hand",
        ...     old_fingerprint="0a", new_fingerprint="1b", pairs=0,
        ... )
        >>> adapter.transform(np.array([[1.0, 3.0]]), fingerprint="0a").tolist()
        [[2.0, 6.0]]
    """

    direction: ClassVar[str] = "old-to-new"

    def transform(
        self, old: NDArray[Any], /, *, fingerprint: str | None = None
    ) -> NDArray[Any]:
        """Map old embeddings into the new space.

        Args:
            old: `(n, d_old)` raw embeddings of the old version.
            fingerprint: Of the version that made them, as stored with the rows; when
                given, rows of any other version are refused.

        Returns:
            `(n, d_new)`, float64 for float64 rows and float32 for others.

        Raises:
            ValueError: Rows of another version, another shape, NaN or infinity.
            TypeError: No floating type.
        """
        _check_rows("old", self.old_fingerprint, fingerprint, self.direction)
        return self.affine_map(old, "old")

    def inverse_transform(
        self, new: NDArray[Any], /, *, fingerprint: str | None = None
    ) -> NDArray[Any]:
        """Undo `transform`.

        For new embeddings that no old one was mapped to this is the nearest way back,
        not the best map from new to old; that is a `NewToOld` of its own.

        Args:
            new: `(n, d_new)` embeddings in the new space.
            fingerprint: Of the version that made them; checked when given.

        Returns:
            `(n, d_old)`.

        Raises:
            ValueError: The map loses components; or as `transform`.
            TypeError: No floating type.
        """
        _check_rows("new", self.new_fingerprint, fingerprint, self.direction)
        return self.affine_map.inverse(new, "new")


@dataclass(frozen=True, eq=False, kw_only=True)
class NewToOld(_Adapter):
    """An adapter that takes new embeddings into the old model's space.

    Attributes:
        affine_map: The map itself.
        old_fingerprint: Of the version that made the old embeddings.
        new_fingerprint: Of the version that made the new embeddings.
        method: The name of the method that fitted the map.
        settings: What the method was told or chose, numbers by name.
        pairs: How many pairs the map was fitted to.

    Raises:
        ValueError: A fingerprint is empty, or both are the same.

    Example:
        >>> adapter = NewToOld(
        ...     affine_map=AffineMap(2 * np.eye(2), np.zeros(2)), method="by hand",
        ...     old_fingerprint="0a", new_fingerprint="1b", pairs=0,
        ... )
        >>> adapter.transform(np.array([[1.0, 3.0]]), fingerprint="1b").tolist()
        [[2.0, 6.0]]
    """

    direction: ClassVar[str] = "new-to-old"

    def transform(
        self, new: NDArray[Any], /, *, fingerprint: str | None = None
    ) -> NDArray[Any]:
        """Map new embeddings into the old space.

        Args:
            new: `(n, d_new)` raw embeddings of the new version.
            fingerprint: Of the version that made them; when given, rows of any other
                version are refused.

        Returns:
            `(n, d_old)`, float64 for float64 rows and float32 for others.

        Raises:
            ValueError: Rows of another version, another shape, NaN or infinity.
            TypeError: No floating type.
        """
        _check_rows("new", self.new_fingerprint, fingerprint, self.direction)
        return self.affine_map(new, "new")

    def inverse_transform(
        self, old: NDArray[Any], /, *, fingerprint: str | None = None
    ) -> NDArray[Any]:
        """Undo `transform`.

        Args:
            old: `(n, d_old)` embeddings in the old space.
            fingerprint: Of the version that made them; checked when given.

        Returns:
            `(n, d_new)`.

        Raises:
            ValueError: The map loses components; or as `transform`.
            TypeError: No floating type.
        """
        _check_rows("old", self.old_fingerprint, fingerprint, self.direction)
        return self.affine_map.inverse(old, "old")


def check_fingerprints(old: str, new: str) -> None:
    """Refuse fingerprints that name no version, or the same one twice.

    Args:
        old: Of the old version.
        new: Of the new version.

    Raises:
        ValueError: One is empty or no string, or both are the same.
    """
    for name, value in (("old_fingerprint", old), ("new_fingerprint", new)):
        if not isinstance(value, str) or not value:
            raise ValueError(
                f"`{name}` should name the version that made the embeddings, as "
                "`registry.fingerprint` gives it or any name that you keep to. "
                f"Received: {value!r}."
            )
    if old == new:
        raise ValueError(
            "`old_fingerprint` and `new_fingerprint` should be of two versions. "
            f"Received: {old!r} for both; embeddings of one version need no map."
        )


def _check_rows(name: str, expected: str, received: str | None, direction: str) -> None:
    if received is not None and received != expected:
        raise ValueError(
            f"`{name}` should be rows of version {expected!r}: this adapter is "
            f"{direction}. Received: rows of {received!r}; take the adapter that was "
            "fitted for them."
        )
