"""Segments of a gallery: Arrow files that are written once and never changed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from keras_bct.tables.arrow_file import map_arrow
from registry.errors import IntegrityError, RowsRemovedError
from registry.fingerprint import Progress, digest_file
from registry.galleries.rows import Floats, arrow_schema

MANIFEST = "manifest.json"
_ROWS_PER_BATCH = 1 << 20


@dataclass(frozen=True)
class Segment:
    """One Arrow file of a gallery.

    Attributes:
        file: Its name in the gallery's folder.
        rows: Number of rows.
        size: Bytes.
        sha256: Of the file.
        fingerprints: Number of rows by the version that made them.
        added: The generation that it came with.
        embedding_size: Components of its embeddings.
        unchecked: Whether its rows are that version's by word alone: nobody embedded
            pictures to compare. Older releases did not keep it.
    """

    file: str
    rows: int
    size: int
    sha256: str
    fingerprints: dict[str, int] = field(hash=False)
    added: int
    embedding_size: int
    unchecked: bool = False

    def map(self, folder: Path) -> pa.Table:
        """Its rows, memory-mapped.

        Raises:
            RowsRemovedError: It is gone: rows were removed since the manifest was read.
            IntegrityError: It is no Arrow file any more.
        """
        try:
            return map_arrow(folder / self.file)
        except FileNotFoundError as error:
            raise RowsRemovedError(
                f"{self.file} of the gallery in {folder} is gone: rows were removed "
                "meanwhile. Open the gallery again."
            ) from error
        except ValueError as error:
            raise IntegrityError(
                f"Files of the gallery in {folder} are damaged:",
                [f"{self.file}: {error}"],
            ) from error

    def wrong_size(self, folder: Path) -> str | None:
        """Says that it is missing or of another size; a mapped one would crash."""
        try:
            size = (folder / self.file).stat().st_size
        except FileNotFoundError:
            return f"{self.file}: missing"
        if size == self.size:
            return None
        return f"{self.file}: {size:,} bytes, not {self.size:,}"

    def damage(self, folder: Path, progress: Progress | None = None) -> str | None:
        """Says that its content is not what was written; reads it whole."""
        if digest_file(folder / self.file, progress).sha256 != self.sha256:
            return f"{self.file}: content changed"
        if self.made_by(folder) != self.fingerprints:
            return f"{MANIFEST}: names other versions than {self.file} has"
        return None

    def made_by(self, folder: Path) -> dict[str, int]:
        """Number of rows by the version that made them, counted in the file itself."""
        counted: Counter[str] = Counter()
        for chunk in self.map(folder).column("fingerprint").chunks:
            numbers = np.bincount(chunk.indices.to_numpy(), minlength=1)
            names = chunk.dictionary.to_pylist()
            counted.update({names[n]: int(numbers[n]) for n in numbers.nonzero()[0]})
        return dict(counted)


def batches_of(
    columns: dict[str, pa.Array], vectors: Floats
) -> Iterator[pa.RecordBatch]:
    """Rows in the batches that a segment is written in.

    Args:
        columns: `id`, `label` and `camera`.
        vectors: (n, d) embeddings.
    """
    for start in range(0, len(vectors), _ROWS_PER_BATCH):
        part = vectors[start : start + _ROWS_PER_BATCH]
        flat = pa.array(np.ascontiguousarray(part).reshape(-1))
        arrays = [column.slice(start, len(part)) for column in columns.values()]
        arrays.append(pa.FixedSizeListArray.from_arrays(flat, part.shape[1]))
        yield pa.record_batch(arrays, names=[*columns, "embedding"])


def write_segment(
    path: Path,
    batches: Iterable[pa.RecordBatch],
    embedding_size: int,
    fingerprint: str,
    generation: int,
) -> Segment:
    """Writes rows of one version to a new file, a batch at a time.

    Args:
        path: The file.
        batches: Columns `id`, `label`, `camera` and `embedding`; others are left out.
        embedding_size: Components of the embeddings.
        fingerprint: Of the version that made them.
        generation: The one that they come with.

    Raises:
        OSError: The file system refuses.
    """
    schema = arrow_schema(embedding_size)
    dictionary = pa.array([fingerprint])
    rows = 0
    with open(path, "wb") as file:
        with pa.ipc.new_file(file, schema) as writer:
            for batch in batches:
                made_by = pa.DictionaryArray.from_arrays(
                    pa.array(np.zeros(len(batch), np.int32)), dictionary
                )
                arrays = [
                    made_by if name == "fingerprint" else batch.column(name)
                    for name in schema.names
                ]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
                rows += len(batch)
        file.flush()
        os.fsync(file.fileno())
    digest = digest_file(path)
    return Segment(
        file=path.name,
        rows=rows,
        size=digest.size,
        sha256=digest.sha256,
        fingerprints={fingerprint: rows},
        added=generation,
        embedding_size=embedding_size,
    )
