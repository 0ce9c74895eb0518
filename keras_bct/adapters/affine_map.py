"""An affine map of embeddings: what every closed-form method comes to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import (
    embedding_rows,
    finite_blocks,
    refuse_overflow,
)
from keras_bct.array_file import read_array, write_array

Floats = NDArray[np.float64]

_MATRIX = "adapter_matrix.npy"
_OFFSET = "adapter_offset.npy"
_WORST_CONDITION = 1e6


@dataclass(frozen=True, eq=False)
class AffineMap:
    """`z -> z matrix + offset`, on rows.

    Attributes:
        matrix: `(input_size, output_size)` float64.
        offset: `(output_size,)` float64.

    Raises:
        ValueError: Shapes that do not fit, or NaN or infinity.

    Example:
        >>> turn = AffineMap(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([0.0, 5.0]))
        >>> turn(np.array([[2.0, 0.0]])).tolist()
        [[0.0, 7.0]]
        >>> turn.inverse(np.array([[0.0, 7.0]])).tolist()
        [[2.0, 0.0]]
    """

    kind: ClassVar[str] = "affine"
    side_size: ClassVar[int | None] = None
    has_variance: ClassVar[bool] = False

    matrix: Floats
    offset: Floats

    def __post_init__(self) -> None:
        """Copy to read-only float64 and check."""
        for name, ndim in (("matrix", 2), ("offset", 1)):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.ndim != ndim or not np.isfinite(array).all():
                raise ValueError(
                    f"`{name}` should be finite and have {ndim} dimensions. "
                    f"Received: shape {array.shape}."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.offset.shape != self.matrix.shape[1:]:
            raise ValueError(
                "`offset` should have one component for each column of `matrix`. "
                f"Received: shapes {self.offset.shape} and {self.matrix.shape}."
            )

    @classmethod
    def through_means(
        cls, matrix: Floats, source_mean: Floats, target_mean: Floats
    ) -> AffineMap:
        """The map with this matrix that takes one mean to the other."""
        return cls(matrix, target_mean - source_mean @ matrix)

    @property
    def input_size(self) -> int:
        """The number of components that go in."""
        return int(self.matrix.shape[0])

    @property
    def output_size(self) -> int:
        """The number of components that come out."""
        return int(self.matrix.shape[1])

    @cached_property
    def condition(self) -> float:
        """The largest singular value of the matrix over the smallest; infinity if 0."""
        values = np.linalg.svd(self.matrix, compute_uv=False)
        if values[-1] <= values[0] * np.finfo(np.float64).eps * max(self.matrix.shape):
            return float("inf")
        return float(values[0] / values[-1])

    def __call__(
        self, rows: Any, side_information: None = None, *, name: str = "rows"
    ) -> NDArray[Any]:
        """Map rows, a block at a time.

        Args:
            rows: `(n, input_size)`; memory-mapped rows are read block by block.
            side_information: An affine map takes none.
            name: The caller's name of `rows`, for messages.

        Returns:
            `(n, output_size)`, float64 for float64 rows and float32 for others.

        Raises:
            ValueError: Another shape, NaN or infinity, or rows that are mapped to it.
            TypeError: No floating type.
        """
        return _product(self.matrix, self.offset, rows, name)

    def with_variance(
        self, rows: Any, side_information: None = None, *, name: str = "rows"
    ) -> tuple[NDArray[Any], None]:
        """Map rows; an affine map predicts no error."""
        return self(rows, name=name), None

    def inverse(self, rows: Any, *, name: str = "rows") -> NDArray[Any]:
        """Undo the map, exactly where a row is in its image, else by least squares.

        Args:
            rows: `(n, output_size)`.
            name: The caller's name of `rows`, for messages.

        Returns:
            `(n, input_size)`.

        Raises:
            ValueError: The map loses components (fewer come out than go in, or its
                condition is above a million), so that there is no way back.
        """
        lossy = self.input_size > self.output_size
        if lossy or self.condition > _WORST_CONDITION:
            raise ValueError(
                f"This map from {self.input_size} to {self.output_size} components "
                f"has condition {self.condition:.3g} and no inverse. Fit the other "
                "direction as an adapter of its own."
            )
        back = np.asarray(np.linalg.pinv(self.matrix), np.float64)
        return _product(back, -self.offset @ back, rows, name)

    def save(self, directory: Path) -> None:
        """Write `adapter_matrix.npy` and `adapter_offset.npy`."""
        write_array(directory / _MATRIX, self.matrix)
        write_array(directory / _OFFSET, self.offset)

    @classmethod
    def load(cls, directory: Path) -> AffineMap:
        """Read what `save` wrote."""
        return cls(
            read_array(directory / _MATRIX),
            read_array(directory / _OFFSET),
        )


def _product(matrix: Floats, offset: Floats, rows: Any, name: str) -> NDArray[Any]:
    rows = embedding_rows(name, rows, len(matrix))
    dtype = np.float64 if rows.itemsize > 4 else np.float32
    with np.errstate(over="ignore"):
        matrix, offset = matrix.astype(dtype), offset.astype(dtype)
    mapped = np.empty((len(rows), len(offset)), dtype)
    for block in finite_blocks(name, rows):
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(rows[block].astype(dtype, copy=False), matrix, out=mapped[block])
            np.add(mapped[block], offset, out=mapped[block])
        refuse_overflow(name, mapped[block], block.start)
    return mapped
