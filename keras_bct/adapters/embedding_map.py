"""The interface of a map: what an adapter holds, closed-form or learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NoReturn, Protocol

from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import embedding_rows
from keras_bct.counted import counted


class EmbeddingMap(Protocol):
    """A function from the rows of one embedding space to those of another.

    It knows sizes and nothing of versions: those are the adapter's. It takes rows in
    blocks inside, so that memory-mapped rows may be larger than memory.

    Attributes:
        kind: The name under which an adapter's description records it.
    """

    kind: ClassVar[str]

    @property
    def input_size(self) -> int:
        """The number of components that go in."""

    @property
    def output_size(self) -> int:
        """The number of components that come out."""

    @property
    def side_size(self) -> int | None:
        """The number of components of side information; None: the map takes none."""

    @property
    def has_variance(self) -> bool:
        """Whether the map predicts `log sigma^2`, its own error."""

    def __call__(
        self, rows: Any, side_information: Any = None, *, name: str = "rows"
    ) -> NDArray[Any]:
        """Map rows.

        Args:
            rows: `(n, input_size)` of a floating type.
            side_information: `(n, side_size)` where the map takes it, else None.
            name: The caller's name of `rows`, for messages.

        Returns:
            `(n, output_size)` float32; a closed-form map gives float64 for float64.

        Raises:
            ValueError: Another shape, NaN or infinity, or rows that are mapped to it.
            TypeError: No floating type.
        """

    def with_variance(
        self, rows: Any, side_information: Any = None, *, name: str = "rows"
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Map rows, and predict the error of each, in one pass.

        Args:
            rows: As above.
            side_information: As above.
            name: As above.

        Returns:
            The mapped rows, and `(n,)` float32 `log sigma^2`, or None where the map
            has no variance.
        """

    def inverse(self, rows: Any, *, name: str = "rows") -> NDArray[Any]:
        """Undo the map.

        Args:
            rows: `(n, output_size)`.
            name: The caller's name of `rows`, for messages.

        Returns:
            `(n, input_size)`.

        Raises:
            ValueError: The map has no inverse.
        """

    def save(self, directory: Path) -> None:
        """Write the map's files, no pickle, into an empty directory."""

    @classmethod
    def load(cls, directory: Path) -> EmbeddingMap:
        """Read what `save` wrote."""


def refuse_inverse(name: str) -> NoReturn:
    """Say that a learned map has no way back.

    Args:
        name: The caller's name of the rows.

    Raises:
        ValueError: Always.
    """
    raise ValueError(
        f"`{name}` cannot be mapped back: a network has no inverse. Fit the other "
        "direction as an adapter of its own."
    )


def check_side_information(embedding_map: EmbeddingMap, rows: Any, side: Any) -> None:
    """Refuse side information that the map does not take, and a lack of what it does.

    Args:
        embedding_map: The map.
        rows: What is mapped.
        side: The caller's `side_information`, or None.

    Raises:
        ValueError: The map takes none, or needs some, or rows of another shape.
        TypeError: No floating type.
    """
    size = embedding_map.side_size
    if size is None:
        if side is not None:
            raise ValueError(
                "`side_information` should be left out: this map was fitted without. "
                f"Received: {type(side).__name__}."
            )
        return
    if side is None:
        raise ValueError(
            f"`side_information` should have shape ({len(rows)}, {size}): this map was "
            "fitted with it. Received: None."
        )
    if len(embedding_rows("side_information", side, size)) != len(rows):
        raise ValueError(
            "`side_information` should have a row for each embedding. Received: "
            f"{counted(len(side), 'row')} for {counted(len(rows), 'embedding')}."
        )
