"""Adapters: a fitted map between two embedding spaces that knows both sides.

The two directions are two types, so that neither a type checker nor `load` lets one
stand for the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from numpy.typing import NDArray

from keras_bct.adapters.description import (
    AdapterDescription,
    Setting,
    plain_setting,
)
from keras_bct.adapters.embedding_map import EmbeddingMap, check_side_information
from keras_bct.adapters.stored_map import read_map, write_adapter
from keras_bct.checked_numbers import whole_number

_A = TypeVar("_A", bound="Adapter")


@dataclass(frozen=True, eq=False, kw_only=True)
class Adapter:
    """What both directions share; an adapter is an `OldToNew` or a `NewToOld`.

    Attributes:
        map: The map itself, closed-form or learned.
        old_fingerprint: Of the version that made the old embeddings.
        new_fingerprint: Of the version that made the new embeddings.
        method: The name of the method that fitted the map.
        pairs: How many pairs the map was fitted to.
        settings: What the method was told or chose, by name.
        direction: `old-to-new` or `new-to-old`.
        source: `old` or `new`: what goes in.
        target: `old` or `new`: what comes out.

    Raises:
        ValueError: A fingerprint is empty, or both are the same; `pairs` is no whole
            number; or JSON has no such setting.
    """

    map: EmbeddingMap
    old_fingerprint: str
    new_fingerprint: str
    method: str
    pairs: int
    settings: Mapping[str, Setting] = field(default_factory=dict)

    direction: ClassVar[str]
    source: ClassVar[str]
    target: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse sides that nothing could tell apart, and what cannot be saved."""
        check_fingerprints(self.old_fingerprint, self.new_fingerprint)
        plain = {
            name: plain_setting(name, self.settings[name]) for name in self.settings
        }
        object.__setattr__(self, "pairs", whole_number("pairs", self.pairs, least=0))
        object.__setattr__(self, "settings", MappingProxyType(plain))

    @property
    def input_size(self) -> int:
        """The number of components that go in."""
        return self.map.input_size

    @property
    def output_size(self) -> int:
        """The number of components that come out."""
        return self.map.output_size

    @property
    def side_size(self) -> int | None:
        """The number of components of side information; None: the map takes none."""
        return self.map.side_size

    @property
    def has_variance(self) -> bool:
        """Whether `log_variance` gives anything."""
        return self.map.has_variance

    def transform(
        self,
        rows: NDArray[Any],
        /,
        *,
        fingerprint: str | None = None,
        side_information: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Map embeddings of the source side into the target's space.

        Args:
            rows: `(n, input_size)` raw embeddings of the source's version.
            fingerprint: Of the version that made them, as stored with the rows; when
                given, rows of any other version are refused.
            side_information: `(n, side_size)` where the map was fitted with some.

        Returns:
            `(n, output_size)` float32; a closed-form map gives float64 for float64.

        Raises:
            ValueError: Rows of another version, another shape, NaN or infinity or
                mapped to it, or side information where there should be none or the
                other way round.
            TypeError: No floating type.
        """
        self._check(rows, fingerprint, side_information)
        return self.map(rows, side_information, name=self.source)

    def log_variance(
        self,
        rows: NDArray[Any],
        /,
        *,
        fingerprint: str | None = None,
        side_information: NDArray[Any] | None = None,
    ) -> NDArray[Any] | None:
        """Predict the error of each mapped row.

        Args:
            rows: As `transform`.
            fingerprint: As `transform`.
            side_information: As `transform`.

        Returns:
            `(n,)` float32, `log sigma^2`; None where the map has no variance.

        Raises:
            ValueError: As `transform`.
            TypeError: No floating type.
        """
        self._check(rows, fingerprint, side_information)
        if not self.has_variance:
            return None
        return self.map.with_variance(rows, side_information, name=self.source)[1]

    def transform_with_variance(
        self,
        rows: NDArray[Any],
        /,
        *,
        fingerprint: str | None = None,
        side_information: NDArray[Any] | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Give `transform` and `log_variance` in one pass over the rows."""
        self._check(rows, fingerprint, side_information)
        return self.map.with_variance(rows, side_information, name=self.source)

    def inverse_transform(
        self, rows: NDArray[Any], /, *, fingerprint: str | None = None
    ) -> NDArray[Any]:
        """Undo `transform`.

        For rows that nothing was mapped to this is the nearest way back, not the best
        map in that direction; that is an adapter of its own.

        Args:
            rows: `(n, output_size)` embeddings in the target's space.
            fingerprint: Of the version that made them; checked when given.

        Returns:
            `(n, input_size)`.

        Raises:
            ValueError: The map loses components or has no inverse; or as `transform`.
            TypeError: No floating type.
        """
        self._check_version(self.target, fingerprint)
        return self.map.inverse(rows, name=self.target)

    def save(self, directory: str | Path) -> None:
        """Write `adapter.json` and the map's files, no pickle.

        They are written beside their places first and moved when all are whole, so
        that what an interruption leaves is refused by `load_adapter`, and saved over.
        Two that save to one directory wait for each other, where the file system can
        lock it.

        Args:
            directory: Made when it does not exist; files of the same names are
                replaced, and those of an adapter that was there are removed.

        Raises:
            FileExistsError: `directory` holds a SavedModel that is no adapter's.
            OSError: A file cannot be written; nothing has changed then, but where it
                cannot be moved.
            ValueError: The map is a SavedModel, and its files are not those any more
                that were loaded; nothing has changed then.
        """
        write_adapter(
            Path(directory),
            self.map,
            direction=self.direction,
            method=self.method,
            settings=dict(self.settings),
            pairs=self.pairs,
            old_fingerprint=self.old_fingerprint,
            new_fingerprint=self.new_fingerprint,
        )

    @classmethod
    def load(cls: type[_A], directory: str | Path) -> _A:
        """Read an adapter of this direction; `load_adapter` takes both.

        Args:
            directory: What `save` wrote.

        Raises:
            FileNotFoundError: There is no adapter in `directory`.
            ValueError: The adapter is of the other direction, of another schema, or
                its files are not those that were saved.
        """
        description = AdapterDescription.read(directory)
        if description.direction != cls.direction:
            raise ValueError(
                f"`directory` should hold an adapter {cls.direction}. Received: "
                f"{directory}, which is {description.direction}; load it with the "
                "class of that direction."
            )
        return cls(
            map=read_map(directory, description),
            old_fingerprint=description.old_fingerprint,
            new_fingerprint=description.new_fingerprint,
            method=description.method,
            pairs=description.pairs,
            settings=description.settings,
        )

    def _check(self, rows: Any, fingerprint: str | None, side: Any) -> None:
        self._check_version(self.source, fingerprint)
        check_side_information(self.map, rows, side)

    def _check_version(self, name: str, received: str | None) -> None:
        expected = {"old": self.old_fingerprint, "new": self.new_fingerprint}[name]
        if received is not None and received != expected:
            raise ValueError(
                f"`{name}` should be rows of version {expected!r}: this adapter is "
                f"{self.direction}. Received: rows of {received!r}; take the adapter "
                "that was fitted for them."
            )


class OldToNew(Adapter):
    """An adapter that takes old embeddings into the new model's space.

    Example:
        >>> import numpy as np
        >>> from keras_bct.adapters import AffineMap
        >>> adapter = OldToNew(
        ...     map=AffineMap(2 * np.eye(2), np.zeros(2)), method="by hand",
        ...     old_fingerprint="0a", new_fingerprint="1b", pairs=0,
        ... )
        >>> adapter.transform(np.array([[1.0, 3.0]]), fingerprint="0a").tolist()
        [[2.0, 6.0]]
    """

    direction, source, target = "old-to-new", "old", "new"


class NewToOld(Adapter):
    """An adapter that takes new embeddings into the old model's space.

    Example:
        >>> import numpy as np
        >>> from keras_bct.adapters import AffineMap
        >>> adapter = NewToOld(
        ...     map=AffineMap(2 * np.eye(2), np.zeros(2)), method="by hand",
        ...     old_fingerprint="0a", new_fingerprint="1b", pairs=0,
        ... )
        >>> adapter.transform(np.array([[1.0, 3.0]]), fingerprint="1b").tolist()
        [[2.0, 6.0]]
    """

    direction, source, target = "new-to-old", "new", "old"


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
                "`registry.fingerprint.fingerprint` gives it or any name that you keep "
                f"to. Received: {value!r}."
            )
    if old == new:
        raise ValueError(
            "`old_fingerprint` and `new_fingerprint` should be of two versions. "
            f"Received: {old!r} for both; embeddings of one version need no map."
        )
