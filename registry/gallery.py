"""Galleries: stored raw embeddings as memory-mapped, uncompressed Arrow IPC files.

A gallery is a folder of segments, each written once and never changed, and a manifest
that names them. A new generation appears when the manifest is replaced, so a reader
sees the rows before an append or after it, and a writer that dies leaves nothing but
a file that nobody names.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from registry.errors import (
    IntegrityError,
    InvalidGalleryError,
    NotFoundError,
    RegistryError,
    UsageError,
)
from registry.fingerprint import digest_file
from registry.storage import sync_folder

if TYPE_CHECKING:
    from keras_bct.evaluation import EmbeddingSet

MANIFEST = "manifest.json"
_LOCK = ".lock"
_ROWS_PER_BATCH = 1 << 20

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
class Segment:
    """One Arrow file of a gallery.

    Attributes:
        file: Its name in the gallery's folder.
        rows: Number of rows.
        size: Bytes.
        sha256: Of the file.
        fingerprints: Number of rows by the version that made them.
        added: The generation that it came with.
    """

    file: str
    rows: int
    size: int
    sha256: str
    fingerprints: dict[str, int] = field(hash=False)
    added: int


@dataclass(frozen=True)
class GalleryRows:
    """Rows of a gallery.

    Attributes:
        table: Arrow table with the columns `id`, `label`, `camera`, `fingerprint` and
            `embedding`, memory-mapped.
    """

    table: pa.Table

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def column(self, name: str) -> list[str | None]:
        """A column of strings; None where a value is not known."""
        values: list[str | None] = self.table.column(name).to_pylist()
        return values

    @property
    def embeddings(self) -> Floats:
        """Embeddings, float32 (rows, d); not copied when they lie in one piece."""
        column = self.table.column("embedding")
        size = column.type.list_size
        pieces = [
            chunk.flatten().to_numpy(zero_copy_only=True).reshape(-1, size)
            for chunk in column.chunks
            if len(chunk)
        ]
        if not pieces:
            return np.empty((0, size), np.float32)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def embedding_set(self) -> EmbeddingSet:
        """The rows as evaluation takes them.

        Raises:
            UsageError: Rows without a label.
        """
        from keras_bct.evaluation import EmbeddingSet

        labels = self.table.column("label")
        if labels.null_count:
            raise UsageError(
                f"{labels.null_count:,} rows of the gallery have no label, and a "
                "protocol cannot be measured without. Append rows with labels."
            )
        cameras = self.table.column("camera")
        return EmbeddingSet(
            np.array(self.column("id"), np.str_),
            np.array(self.column("label"), np.str_),
            None if cameras.null_count else np.array(self.column("camera"), np.str_),
            self.embeddings,
        )


@dataclass(frozen=True)
class Gallery:
    """One generation of a gallery; appending returns the next one.

    Attributes:
        folder: Where it lies.
        embedding_size: Components of each embedding.
        generation: Counted from 0, the empty one.
        segments: Its files, in the order of their rows.
        created: When this generation was committed.
    """

    folder: Path
    embedding_size: int
    generation: int
    segments: tuple[Segment, ...]
    created: str

    @classmethod
    def create(cls, folder: str | os.PathLike[str], embedding_size: int) -> Gallery:
        """Makes an empty gallery.

        Raises:
            UsageError: There is one, or the size is not positive.
        """
        if embedding_size < 1:
            raise UsageError(
                f"`embedding_size` should be positive. Received: {embedding_size}."
            )
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            if (path / MANIFEST).exists():
                raise UsageError(f"There is a gallery in {path} already.")
            gallery = cls(path, embedding_size, 0, (), _now())
            gallery._commit()
        return gallery

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Gallery:
        """The current generation of the gallery in `folder`.

        Raises:
            NotFoundError: There is no gallery.
            IntegrityError: Its manifest cannot be read, or a file has not the size
                that it names; a mapped file that is too short would crash the process.
        """
        path = Path(folder)
        try:
            content = json.loads((path / MANIFEST).read_text())
            schema = content["schema"]
            if schema != 1:
                raise RegistryError(
                    f"The gallery in {path} has schema {schema!r}; this release reads "
                    "1. Upgrade with `pip install --upgrade keras-bct`."
                )
            gallery = cls(
                path,
                content["embedding_size"],
                content["generation"],
                tuple(Segment(**segment) for segment in content["segments"]),
                content["created"],
            )
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"There is no gallery in {path}.") from None
        except (ValueError, TypeError, KeyError) as error:
            raise IntegrityError(
                f"The manifest of the gallery in {path} cannot be read: {error}.",
                [f"{MANIFEST}: cannot be read"],
            ) from error
        bad = gallery.check_sizes()
        if bad:
            raise IntegrityError(f"Files of the gallery in {path} are damaged:", bad)
        return gallery

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(segment.rows for segment in self.segments)

    @property
    def fingerprints(self) -> dict[str, int]:
        """Number of rows by the fingerprint of the version that made them."""
        total: Counter[str] = Counter()
        for segment in self.segments:
            total.update(segment.fingerprints)
        return dict(total)

    def at(self, generation: int) -> Gallery:
        """The gallery as it was in an earlier generation.

        Raises:
            NotFoundError: It has not come to that generation.
        """
        if not 0 <= generation <= self.generation:
            raise NotFoundError(
                f"The gallery in {self.folder} is at generation {self.generation}. "
                f"Received: {generation}."
            )
        segments = tuple(s for s in self.segments if s.added <= generation)
        return Gallery(
            self.folder, self.embedding_size, generation, segments, self.created
        )

    def read(self, fingerprint: str | None = None) -> GalleryRows:
        """All rows, or those that one version made, in the order of their appending.

        Args:
            fingerprint: Of that version.

        Returns:
            Rows whose embeddings stay on disk until they are used.
        """
        tables = []
        for segment in self.segments:
            if fingerprint is None or fingerprint in segment.fingerprints:
                table = self._map(segment)
                if fingerprint is not None and len(segment.fingerprints) > 1:
                    mask = pc.equal(
                        table.column("fingerprint").cast(pa.string()), fingerprint
                    )
                    table = table.filter(mask)
                tables.append(table)
        if not tables:
            return GalleryRows(arrow_schema(self.embedding_size).empty_table())
        return GalleryRows(pa.concat_tables(tables))

    def ids_held(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` that the gallery has rows of."""
        wanted = ids if isinstance(ids, pa.Array) else pa.array(ids, pa.string())
        held: set[str] = set()
        for segment in self.segments:
            column = self._map(segment).column("id")
            found = column.filter(pc.is_in(column, value_set=wanted))
            held.update(found.to_pylist())
        return held

    def digest(self, fingerprint: str) -> str:
        """SHA-256 over the segments with rows that `fingerprint` made.

        It stays the same when rows of other versions are appended.
        """
        sha = hashlib.sha256(f"{fingerprint}\n".encode())
        for segment in self.segments:
            if fingerprint in segment.fingerprints:
                sha.update(f"{segment.sha256}\n".encode())
        return sha.hexdigest()

    def append(
        self,
        ids: Sequence[str],
        embeddings: npt.ArrayLike,
        fingerprint: str,
        *,
        labels: Sequence[str | None] | None = None,
        cameras: Sequence[str | None] | None = None,
    ) -> Gallery:
        """Adds rows as a new generation, after those that others added meanwhile.

        Args:
            ids: n names; no row of the gallery may have one of them.
            embeddings: (n, d) raw output of the version, finite.
            fingerprint: Of the version that made them.
            labels: n labels, None where they are not known.
            cameras: n cameras, None where they are not known.

        Returns:
            The new generation.

        Raises:
            InvalidGalleryError: No rows, an id twice, another width, NaN or infinity.
            RegistryError: They cannot be written. Nothing was appended.
        """
        columns, vectors = check_rows(
            self.embedding_size, ids, embeddings, labels, cameras
        )
        if not re.fullmatch(r"[0-9a-f]{64}", fingerprint):
            raise UsageError(
                "`fingerprint` should be that of a version, 64 hexadecimal "
                f"characters. Received: {fingerprint!r}."
            )
        with _locked(self.folder):
            now_at = Gallery.open(self.folder)
            held = now_at.ids_held(columns["id"])
            if held:
                raise InvalidGalleryError(
                    f"{len(held):,} of the ids have rows in {self.folder} already, "
                    f"such as {sorted(held)[:3]}. Nothing was appended."
                )
            now_at._remove_unnamed()
            return now_at._write(columns, vectors, fingerprint)

    def check_sizes(self) -> list[str]:
        """Names of segments that are missing or have another size."""
        bad = []
        for segment in self.segments:
            path = self.folder / segment.file
            size = path.stat().st_size if path.is_file() else None
            if size is None:
                bad.append(f"{segment.file}: missing")
            elif size != segment.size:
                bad.append(f"{segment.file}: {size:,} bytes, not {segment.size:,}")
        return bad

    def verify(self, progress: Any = None, fingerprint: str | None = None) -> list[str]:
        """Names of files whose content is not what was written.

        Args:
            progress: Told the number of bytes that were read.
            fingerprint: Only segments with rows that this version made.
        """
        bad = self.check_sizes()
        if bad:
            return bad
        for segment in self.segments:
            if fingerprint is not None and fingerprint not in segment.fingerprints:
                continue
            digest = digest_file(self.folder / segment.file, progress)
            if digest.sha256 != segment.sha256:
                bad.append(f"{segment.file}: content changed")
            elif self._made_by(segment) != segment.fingerprints:
                bad.append(f"{MANIFEST}: names other versions than {segment.file} has")
        return bad

    def check(self, progress: Any = None, fingerprint: str | None = None) -> None:
        """Raises when `verify` finds something.

        Raises:
            IntegrityError: Files of the gallery are not what was written.
        """
        bad = self.verify(progress, fingerprint)
        if bad:
            raise IntegrityError(
                f"Files of the gallery in {self.folder} are damaged:", bad
            )

    def _made_by(self, segment: Segment) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for chunk in self._map(segment).column("fingerprint").chunks:
            numbers = np.bincount(chunk.indices.to_numpy(), minlength=1)
            names = chunk.dictionary.to_pylist()
            counted.update({names[n]: int(numbers[n]) for n in numbers.nonzero()[0]})
        return dict(counted)

    def _map(self, segment: Segment) -> pa.Table:
        source = pa.memory_map(str(self.folder / segment.file), "r")
        return pa.ipc.open_file(source).read_all()

    def _remove_unnamed(self) -> None:
        """Removes what writers left that died before their commit."""
        named = {segment.file for segment in self.segments}
        for path in self.folder.glob("segment-*"):
            if path.name not in named:
                path.unlink(missing_ok=True)

    def _write(
        self, columns: dict[str, pa.Array], vectors: Floats, fingerprint: str
    ) -> Gallery:
        generation = self.generation + 1
        path = self.folder / f"segment-{generation:06d}.arrow"
        try:
            _write_segment(path, columns, vectors, fingerprint)
            digest = digest_file(path)
            segment = Segment(
                file=path.name,
                rows=len(vectors),
                size=digest.size,
                sha256=digest.sha256,
                fingerprints={fingerprint: len(vectors)},
                added=generation,
            )
            gallery = Gallery(
                self.folder,
                self.embedding_size,
                generation,
                (*self.segments, segment),
                _now(),
            )
            gallery._commit()
        except OSError as error:
            path.unlink(missing_ok=True)
            raise RegistryError(
                f"{len(vectors):,} rows could not be appended to {self.folder}: "
                f"{error.strerror or error}. Nothing was appended."
            ) from error
        return gallery

    def _commit(self) -> None:
        content = {
            "schema": 1,
            "generation": self.generation,
            "embedding_size": self.embedding_size,
            "rows": self.rows,
            "created": self.created,
            "segments": [asdict(segment) for segment in self.segments],
        }
        partial = self.folder / f"{MANIFEST}.partial"
        with open(partial, "w") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.folder)
        os.replace(partial, self.folder / MANIFEST)
        sync_folder(self.folder)


def _write_segment(
    path: Path, columns: dict[str, pa.Array], vectors: Floats, fingerprint: str
) -> None:
    schema = arrow_schema(vectors.shape[1])
    dictionary = pa.array([fingerprint])
    with open(path, "wb") as file:
        with pa.ipc.new_file(file, schema) as writer:
            for start in range(0, len(vectors), _ROWS_PER_BATCH):
                part = vectors[start : start + _ROWS_PER_BATCH]
                made_by = pa.DictionaryArray.from_arrays(
                    pa.array(np.zeros(len(part), np.int32)), dictionary
                )
                arrays = [
                    *(
                        columns[name].slice(start, len(part))
                        for name in ("id", "label", "camera")
                    ),
                    made_by,
                    pa.FixedSizeListArray.from_arrays(
                        pa.array(np.ascontiguousarray(part).reshape(-1)),
                        vectors.shape[1],
                    ),
                ]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        file.flush()
        os.fsync(file.fileno())


def check_rows(
    embedding_size: int,
    ids: Sequence[str],
    embeddings: npt.ArrayLike,
    labels: Sequence[str | None] | None = None,
    cameras: Sequence[str | None] | None = None,
) -> tuple[dict[str, pa.Array], Floats]:
    """Columns and embeddings as a gallery stores them.

    Raises:
        InvalidGalleryError: No rows, an id twice, another width, NaN or infinity.
    """
    vectors = _check_vectors(embeddings, ids, embedding_size)
    columns = {"id": _strings("ids", ids, len(vectors))}
    refuse_duplicates(columns["id"].to_pylist())
    for name, values in (("label", labels), ("camera", cameras)):
        columns[name] = (
            pa.nulls(len(vectors), pa.string())
            if values is None
            else _strings(f"{name}s", values, len(vectors))
        )
    return columns, vectors


def _check_vectors(embeddings: npt.ArrayLike, ids: Sequence[str], size: int) -> Floats:
    vectors = np.asarray(embeddings)
    if vectors.ndim != 2 or not len(vectors) or vectors.dtype.kind != "f":
        raise InvalidGalleryError(
            "`embeddings` should be floating, of shape (rows, components), with at "
            f"least one row. Received: {vectors.dtype} {vectors.shape}."
        )
    if vectors.shape[1] != size:
        raise InvalidGalleryError(
            f"Embeddings of this gallery have {size} components. Received: "
            f"{vectors.shape[1]}. A version with more of them is compared by its first "
            f"{size} (`first_components`); one with fewer needs its own gallery."
        )
    if len(ids) != len(vectors):
        raise InvalidGalleryError(
            f"`ids` should name each of the {len(vectors)} rows. Received: {len(ids)}."
        )
    with np.errstate(over="ignore"):
        vectors = vectors.astype(np.float32, copy=False)
    for start in range(0, len(vectors), 65536):
        finite = np.isfinite(vectors[start : start + 65536]).all(axis=1)
        if not finite.all():
            row = start + int(np.flatnonzero(~finite)[0])
            raise InvalidGalleryError(
                f"Embeddings should be finite in float32. Received NaN or infinity for "
                f"id {ids[row]!r}. Nothing was appended."
            )
    return vectors


def _strings(argument: str, values: Sequence[str | None], rows: int) -> pa.Array:
    if len(values) != rows:
        raise InvalidGalleryError(
            f"`{argument}` should have one value for each of the {rows} rows. "
            f"Received: {len(values)}."
        )
    column = pa.array([None if v is None else str(v) for v in values], pa.string())
    if argument == "ids" and pc.any(pc.equal(pc.utf8_length(column), 0)).as_py():
        raise InvalidGalleryError("`ids` should not be empty. Received: ''.")
    return column


def refuse_duplicates(ids: Sequence[str]) -> None:
    """Raises InvalidGalleryError when an id is there twice."""
    counts = Counter(ids)
    if len(counts) < len(ids):
        name, times = counts.most_common(1)[0]
        raise InvalidGalleryError(
            f"`ids` should name each row once. Received {name!r} {times} times. "
            "Nothing was appended."
        )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time; the kernel lets go of the lock of a process that dies."""
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        raise NotFoundError(f"There is no gallery in {folder}.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
