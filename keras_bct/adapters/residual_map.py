"""An affine map and a small network beside it, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.embedding_map import refuse_inverse
from keras_bct.adapters.embedding_rows import (
    embedding_rows,
    finite_blocks,
    float32_rows,
    refuse_overflow,
)
from keras_bct.array_file import read_array, write_array

Singles = NDArray[np.float32]

_FILES = ("hidden_matrix", "hidden_offset", "output_matrix")


@dataclass(frozen=True, eq=False)
class ResidualMap:
    """`z -> affine(z) + relu(z hidden_matrix + hidden_offset) output_matrix`, on rows.

    Attributes:
        affine: What the network corrects.
        hidden_matrix: `(input_size, units)` float32.
        hidden_offset: `(units,)` float32.
        output_matrix: `(units, output_size)` float32; its offset is in `affine`.

    Raises:
        ValueError: Shapes that do not fit, or NaN or infinity.

    Example:
        Below zero the unit is silent; above it takes as much as came in.

        >>> bend = ResidualMap(
        ...     AffineMap(np.eye(1), np.zeros(1)), np.eye(1), np.zeros(1), -np.eye(1)
        ... )
        >>> bend(np.array([[-2.0], [3.0]])).tolist()
        [[-2.0], [0.0]]
    """

    kind: ClassVar[str] = "residual-mlp"
    side_size: ClassVar[int | None] = None
    has_variance: ClassVar[bool] = False

    affine: AffineMap
    hidden_matrix: Singles
    hidden_offset: Singles
    output_matrix: Singles

    def __post_init__(self) -> None:
        """Copy to read-only float32 and check."""
        units = len(np.atleast_1d(self.hidden_offset))
        shapes = {
            "hidden_matrix": (self.affine.input_size, units),
            "hidden_offset": (units,),
            "output_matrix": (units, self.affine.output_size),
        }
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float32)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(
                    f"`{name}` should be finite and have shape {shape}. Received: "
                    f"shape {array.shape}."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def input_size(self) -> int:
        """The number of components that go in."""
        return self.affine.input_size

    @property
    def output_size(self) -> int:
        """The number of components that come out."""
        return self.affine.output_size

    def __call__(
        self, rows: Any, side_information: None = None, *, name: str = "rows"
    ) -> Singles:
        """Map rows, a block at a time; float32, whatever they come in."""
        rows = embedding_rows(name, rows, self.input_size)
        with np.errstate(over="ignore"):
            matrix = self.affine.matrix.astype(np.float32)
            offset = self.affine.offset.astype(np.float32)
        mapped = np.empty((len(rows), self.output_size), np.float32)
        for block in finite_blocks(name, rows):
            taken = float32_rows(name, rows[block], block.start)
            with np.errstate(over="ignore", invalid="ignore"):
                hidden = taken @ self.hidden_matrix
                hidden += self.hidden_offset
                np.maximum(hidden, 0, out=hidden)
                given = np.matmul(taken, matrix, out=mapped[block])
                given += offset
                given += hidden @ self.output_matrix
            refuse_overflow(name, given, block.start)
        return mapped

    def with_variance(
        self, rows: Any, side_information: None = None, *, name: str = "rows"
    ) -> tuple[Singles, None]:
        """Map rows; this map predicts no error."""
        return self(rows, name=name), None

    def inverse(self, rows: Any, *, name: str = "rows") -> NDArray[Any]:
        """Refuse: a network has no way back.

        Raises:
            ValueError: Always.
        """
        refuse_inverse(name)

    def save(self, directory: Path) -> None:
        """Write the affine map's files and three more `.npy`."""
        self.affine.save(directory)
        for name in _FILES:
            write_array(directory / f"adapter_{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, directory: Path) -> ResidualMap:
        """Read what `save` wrote."""
        return cls(
            AffineMap.load(directory),
            *(read_array(directory / f"adapter_{name}.npy") for name in _FILES),
        )
