"""Search indices: ScaNN over a gallery's stored vectors.

The one module that imports scann. An index is a folder that can be moved: ScaNN's own
files in `scann/`, `rows.arrow` with the ids in row order, and a manifest. ScaNN crashes
the process on a wrong path and trusts its files, so a loader checks the manifest and
every file first.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from registry.errors import IntegrityError, RegistryError, UsageError
from registry.fingerprint import digest_file
from registry.gallery_rows import GalleryRows
from registry.integrity import differences
from registry.storage import sync_folder

MANIFEST = "manifest.json"
BRUTE_FORCE_ROWS = 4000
"""Up to this many rows the exact search is as fast, and exact."""

TARGET_RECALL = 0.95
NEIGHBORS = 10
_SAMPLE = 1000
_ROWS = "rows.arrow"

Floats = npt.NDArray[np.float32]


def import_scann() -> Any:
    """ScaNN with its pybind interface.

    scann 1.4 tries to load an operation for TensorFlow that misses a symbol beside
    TensorFlow 2.21, but works whole when it believes that there is no TensorFlow;
    scann 1.3 needs the TensorFlow that it was built for.
    """
    if "scann" in sys.modules:
        return sys.modules["scann"]
    version = importlib.metadata.version("scann")
    if tuple(map(int, version.split(".")[:2])) < (1, 4):
        import scann

        return scann
    absent = object()
    saved: Any = sys.modules.get("tensorflow", absent)
    sys.modules["tensorflow"] = None  # type: ignore[assignment]
    try:
        import scann
    finally:
        if saved is absent:
            del sys.modules["tensorflow"]
        else:
            sys.modules["tensorflow"] = saved
    return scann


@dataclass(frozen=True)
class IndexManifest:
    """What an index is, stored beside it.

    Attributes:
        gallery: Name of the gallery.
        generation: Its generation.
        fingerprints: Number of rows by the version that made them.
        first_components: K, how many components of a query are compared.
        distance: `"cosine"`, `"l2"` or `"inner_product"`.
        rows: Number of vectors.
        method: `"brute_force"` or `"tree_ah"`.
        leaves_to_search: Of the tree, 0 for brute force.
        recall_at_10: Share of the true ten nearest that it finds; exact search says
            which these are.
        scann: Version of ScaNN that built it.
        files: Size and SHA-256 by relative path.
    """

    gallery: str
    generation: int
    fingerprints: dict[str, int] = field(hash=False)
    first_components: int
    distance: str
    rows: int
    method: str
    leaves_to_search: int
    recall_at_10: float
    scann: str
    files: dict[str, dict[str, Any]] = field(hash=False)


@dataclass(frozen=True)
class Hit:
    """A row that a search found.

    Attributes:
        id: Of the row.
        label: Of the row, None where it is not known.
        camera: Of the row, None where it is not known.
        fingerprint: Of the version that made its embedding.
        score: Cosine or inner product, higher is nearer; or for `l2` the squared
            distance, lower is nearer.
    """

    id: str
    label: str | None
    camera: str | None
    fingerprint: str
    score: float


def build_index(
    folder: Path,
    rows: GalleryRows,
    *,
    gallery: str,
    generation: int,
    fingerprints: dict[str, int],
    distance: str,
    first_components: int,
    queries: Floats | None = None,
    target_recall: float = TARGET_RECALL,
) -> IndexManifest:
    """Builds an index of stored vectors into an empty folder.

    Args:
        folder: Where to; made here.
        rows: The vectors; nothing is embedded.
        gallery: Name of the gallery, for the manifest.
        generation: Its generation, for the manifest.
        fingerprints: Number of rows by fingerprint, for the manifest.
        distance: `"cosine"` (unit rows and dot product), `"l2"` or
            `"inner_product"`.
        first_components: K, how many components are indexed.
        queries: (m, d) raw embeddings to measure recall with, best those of real
            queries; sampled rows by default, which are easier than queries that are
            like no row.
        target_recall: More leaves are searched until recall@10 comes to this.

    Raises:
        UsageError: There are no rows.
        RegistryError: It cannot be written, for one because the disk is full.
    """
    if not len(rows):
        raise UsageError(f"The gallery {gallery!r} has no rows to index. Add some.")
    vectors = prepare(rows.embeddings, first_components, distance)
    if queries is not None:
        queries = prepare(queries, first_components, distance)
    trial = _Trial.of(vectors, queries, distance)
    searcher, method, leaves, recall = _build(vectors, distance, trial, target_recall)
    (folder / "scann").mkdir(parents=True)
    searcher.serialize(str(folder / "scann"))
    _refuse_cut_short(folder / "scann")
    _make_relative(folder / "scann" / "scann_assets.pbtxt")
    with pa.OSFile(str(folder / _ROWS), "wb") as sink:
        table = rows.table.drop(["embedding"]).combine_chunks().unify_dictionaries()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    files = {
        path.relative_to(folder).as_posix(): asdict(digest_file(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    manifest = IndexManifest(
        gallery=gallery,
        generation=generation,
        fingerprints=fingerprints,
        first_components=first_components,
        distance=distance,
        rows=len(rows),
        method=method,
        leaves_to_search=leaves,
        recall_at_10=recall,
        scann=importlib.metadata.version("scann"),
        files=files,
    )
    with open(folder / MANIFEST, "w") as file:
        json.dump({"schema": 1, **asdict(manifest)}, file, indent=1, sort_keys=True)
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
    sync_folder(folder / "scann")
    sync_folder(folder)
    return manifest


def prepare(vectors: Floats, first_components: int, distance: str) -> Floats:
    """Vectors as ScaNN gets them: cut first, then for cosine made unit length.

    >>> prepare(np.array([[3.0, 4.0, 9.0]], np.float32), 2, "cosine").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    cut = np.ascontiguousarray(vectors[:, :first_components], np.float32)
    if distance != "cosine":
        return cut
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    # A vector of zeros has no direction; it stays, and is as far from all others.
    scaled: Floats = np.divide(cut, np.where(norms > 0, norms, 1), dtype=np.float32)
    return scaled


def _build(
    vectors: Floats, distance: str, trial: _Trial, target_recall: float
) -> tuple[Any, str, int, float]:
    scann = import_scann().scann_ops_pybind
    measure = "squared_l2" if distance == "l2" else "dot_product"
    builder = scann.builder(vectors, min(NEIGHBORS, len(vectors)), measure)
    if len(vectors) <= BRUTE_FORCE_ROWS:
        searcher = builder.score_brute_force().build()
        return searcher, "brute_force", 0, trial.recall(searcher, None)
    leaves = int(math.sqrt(len(vectors)))
    searched = max(1, leaves // 10)
    searcher = (
        builder.tree(
            num_leaves=leaves,
            num_leaves_to_search=searched,
            training_sample_size=min(len(vectors), 250_000),
        )
        .score_ah(2, anisotropic_quantization_threshold=0.2)
        .reorder(100)
        .build()
    )
    while True:
        recall = trial.recall(searcher, searched)
        if recall >= target_recall or searched >= leaves:
            return searcher, "tree_ah", searched, recall
        searched = min(leaves, searched * 2)


@dataclass(frozen=True)
class _Trial:
    """Queries with their true nearest rows.

    Attributes:
        queries: (m, K) as ScaNN gets them.
        own: (m,) the row that each query is, which is left out; -1 for none.
        true: (m, k) the nearest rows by exact search, in no order.
    """

    queries: Floats
    own: npt.NDArray[np.int64]
    true: npt.NDArray[np.int64]

    @classmethod
    def of(cls, vectors: Floats, queries: Floats | None, distance: str) -> _Trial:
        """Searches exactly, a few queries at a time."""
        own = np.full(_SAMPLE, -1)
        if queries is None:
            own = np.random.default_rng(0).permutation(len(vectors))[:_SAMPLE]
            queries = vectors[own]
        queries = queries[:_SAMPLE]
        own = own[: len(queries)]
        k = min(NEIGHBORS, len(vectors) - (own[0] >= 0))
        squares = np.square(vectors).sum(1)
        true = np.empty((len(queries), k), np.int64)
        for start in range(0, len(queries), 32):
            rows = slice(start, start + 32)
            scores = queries[rows] @ vectors.T
            if distance == "l2":
                scores = 2 * scores - squares
            block = np.arange(len(scores))
            leave_out = own[rows] >= 0
            scores[block[leave_out], own[rows][leave_out]] = -np.inf
            true[rows] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return cls(queries, own, true)

    def recall(self, searcher: Any, leaves: int | None) -> float:
        """Share of the true nearest that the searcher finds."""
        k = self.true.shape[1]
        if k == 0:
            return 1.0
        found, _ = searcher.search_batched(
            self.queries, final_num_neighbors=k + 1, leaves_to_search=leaves
        )
        hits = 0
        for rows, own, true in zip(found, self.own, self.true, strict=True):
            others = [row for row in rows if row != own][:k]
            hits += len(set(others) & set(true.tolist()))
        return hits / self.true.size


def _refuse_cut_short(folder: Path) -> None:
    """ScaNN does not say when the disk is full; the heads of its arrays do."""
    for path in folder.glob("*.npy"):
        try:
            np.load(path, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise RegistryError(
                f"{path.name} of the index was written in part only; is the disk full? "
                "Nothing was published; make room and build it again."
            ) from error


def _make_relative(assets: Path) -> None:
    """Scann 1.3 writes absolute paths, which would not survive a move."""
    text = assets.read_text()
    assets.write_text(
        re.sub(r'asset_path: "(?:[^"]*/)?([^"/]+)"', r'asset_path: "\1"', text)
    )


def read_manifest(folder: Path) -> tuple[IndexManifest, str]:
    """Reads the manifest of an index, and says its SHA-256.

    Raises:
        IntegrityError: It is missing or cannot be read.
    """
    try:
        data = (folder / MANIFEST).read_bytes()
        content = json.loads(data)
        schema = content.pop("schema")
        if schema != 1:
            raise RegistryError(
                f"The index in {folder} has schema {schema!r}; this release reads 1."
            )
        return IndexManifest(**content), hashlib.sha256(data).hexdigest()
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise IntegrityError(
            f"The manifest of the index in {folder} cannot be read: {error}.",
            [MANIFEST],
        ) from error


def verify_index(folder: Path, manifest_sha256: str | None = None) -> list[str]:
    """Names of the files of an index that are missing, changed or too many.

    Args:
        folder: Of the index.
        manifest_sha256: Of the manifest, as the registry knows it.
    """
    try:
        if manifest_sha256 is not None and (
            digest_file(folder / MANIFEST).sha256 != manifest_sha256
        ):
            return [f"{MANIFEST}: content changed"]
        manifest, _ = read_manifest(folder)
    except OSError:
        return [f"{MANIFEST}: missing"]
    except IntegrityError as error:
        return list(error.files)
    files = {
        path.relative_to(folder).as_posix(): digest_file(path)
        for path in folder.rglob("*")
        if path.is_file()
    }
    files.pop(MANIFEST)
    return differences(manifest.files, files)


class Searcher:
    """An index that has been checked and loaded."""

    def __init__(self, folder: Path, manifest_sha256: str | None = None) -> None:
        """Checks every file, then hands them to ScaNN.

        Args:
            folder: Of the index.
            manifest_sha256: Of the manifest, as the registry knows it.

        Raises:
            IntegrityError: A file is not what was written.
        """
        bad = verify_index(folder, manifest_sha256)
        if bad:
            raise IntegrityError(f"Files of the index in {folder} are damaged:", bad)
        self.manifest, _ = read_manifest(folder)
        with pa.memory_map(str(folder / _ROWS), "r") as source:
            self._rows = pa.ipc.open_file(source).read_all()
        # ScaNN opens the paths that this text names, so it gets whole ones; and it
        # would unpickle a file that lies beside them, so it gets its own folder.
        with tempfile.TemporaryDirectory(prefix="scann-") as passing:
            own = (folder / "scann").absolute()
            shutil.copy(own / "scann_config.pb", passing)
            text = (own / "scann_assets.pbtxt").read_text()
            Path(passing, "scann_assets.pbtxt").write_text(
                re.sub(
                    r'asset_path: "([^"/]+)"',
                    lambda match: f'asset_path: "{own.as_posix()}/{match.group(1)}"',
                    text,
                )
            )
            loader = import_scann().scann_ops_pybind.load_searcher
            self._searcher = loader(passing)

    def search(self, queries: npt.ArrayLike, k: int) -> list[list[Hit]]:
        """The `k` nearest rows of each query, nearest first.

        Args:
            queries: (n, d) raw embeddings, d at least the index's K.
            k: How many; all rows when there are fewer.

        Raises:
            UsageError: The queries are too narrow, or k is not positive.
        """
        vectors = np.asarray(queries, np.float32)
        size = self.manifest.first_components
        if vectors.ndim != 2 or vectors.shape[1] < size:
            raise UsageError(
                f"Queries should have shape (n, d) with d at least {size}. Received: "
                f"{vectors.shape}."
            )
        if k < 1:
            raise UsageError(f"`k` should be positive. Received: {k}.")
        k = min(k, self.manifest.rows)
        tree = self.manifest.method == "tree_ah"
        found, scores = self._searcher.search_batched(
            prepare(vectors, size, self.manifest.distance),
            final_num_neighbors=k,
            leaves_to_search=self.manifest.leaves_to_search if tree else None,
            pre_reorder_num_neighbors=max(100, 10 * k) if tree else None,
        )
        return [
            self._hits(ids, values) for ids, values in zip(found, scores, strict=True)
        ]

    def _hits(self, rows: Sequence[int], scores: Sequence[float]) -> list[Hit]:
        # A tree may come back with fewer rows than asked for, filled up with NaN.
        pairs = [(int(r), float(s)) for r, s in zip(rows, scores, strict=True)]
        pairs = [(r, s) for r, s in pairs if math.isfinite(s)]
        table = self._rows.take([r for r, _ in pairs]).to_pylist()
        return [Hit(**row, score=s) for row, (_, s) in zip(table, pairs, strict=True)]
