"""Rows of a gallery: an Arrow table whose embeddings stay on disk until used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from registry.errors import UsageError

if TYPE_CHECKING:
    from keras_bct.evaluation import EmbeddingSet

Floats = npt.NDArray[np.float32]


def arrow_schema(embedding_size: int) -> pa.Schema:
    """Columns of a gallery with embeddings of this size."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("label", pa.string()),
            pa.field("camera", pa.string()),
            pa.field(
                "fingerprint", pa.dictionary(pa.int32(), pa.string()), nullable=False
            ),
            pa.field(
                "embedding",
                pa.list_(pa.field("item", pa.float32()), embedding_size),
                nullable=False,
            ),
        ]
    )


@dataclass(frozen=True)
class GalleryRows:
    """Rows of a gallery.

    Attributes:
        table: Arrow table, or a batch of one, with the columns `id`, `label`, `camera`,
            `fingerprint` and `embedding`, memory-mapped.
    """

    table: pa.Table | pa.RecordBatch

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def column(self, name: str) -> list[str | None]:
        """A column of strings; None where a value is not known."""
        values: list[str | None] = self.table.column(name).to_pylist()
        return values

    @property
    def embeddings(self) -> Floats:
        """Embeddings, float32 (rows, d); not copied when they lie in one piece.

        Raises:
            UsageError: The rows are of several sizes.
        """
        column = self.table.column("embedding")
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        pieces = [
            chunk.flatten().to_numpy(zero_copy_only=True).reshape(len(chunk), -1)
            for chunk in chunks
            if len(chunk)
        ]
        sizes = sorted({piece.shape[1] for piece in pieces})
        if len(sizes) > 1:
            raise UsageError(
                f"These rows have {' and '.join(map(str, sizes))} components. Read "
                "those of one version."
            )
        if not pieces:
            fixed = pa.types.is_fixed_size_list(column.type)
            return np.empty((0, column.type.list_size if fixed else 0), np.float32)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def embedding_set(self) -> EmbeddingSet:
        """The rows as evaluation takes them; what is not known of one is missing."""
        from keras_bct.evaluation import EmbeddingSet

        cameras = self.table.column("camera")
        return EmbeddingSet(
            self.table.column("id"),
            self.table.column("label"),
            None if cameras.null_count == len(cameras) else cameras,
            self.embeddings,
        )


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of several, memory-mapped as they are.

    Where their embeddings have different sizes the column is one of lists of any size.
    """
    if len({table.schema.field("embedding").type for table in tables}) > 1:
        tables = [_with_lists(table) for table in tables]
    return pa.concat_tables(tables)


def _with_lists(table: pa.Table) -> pa.Table:
    column = table.column("embedding")
    size = column.type.list_size
    chunks = [
        pa.LargeListArray.from_arrays(
            pa.array(np.arange(len(chunk) + 1, dtype=np.int64) * size), chunk.flatten()
        )
        for chunk in column.chunks
    ]
    lists = pa.chunked_array(chunks, type=pa.large_list(pa.float32()))
    return table.set_column(
        table.schema.get_field_index("embedding"), "embedding", lists
    )
