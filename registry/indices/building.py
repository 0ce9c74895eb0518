"""Building a search index: ScaNN over a gallery's stored vectors.

An index is a folder that can be moved: ScaNN's own files in `scann/`, `rows.arrow` with
the ids in row order, and a manifest.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from registry.artifacts.storage import sync_folder
from registry.errors import RegistryError, UsageError
from registry.fingerprint import Progress, digest_file
from registry.galleries.rows import GalleryRows
from registry.indices.manifest import (
    LARGEST_IN_TREE,
    MANIFEST,
    ROWS,
    SCHEMA,
    IndexManifest,
    leaves_of,
)
from registry.indices.recall import NEIGHBORS, Trial
from registry.indices.scann_library import import_scann
from registry.indices.vectors import Floats, Transform, index_vectors, prepare

BRUTE_FORCE_ROWS = 4000
"""Up to this many rows the exact search is as fast, and exact."""

TARGET_RECALL = 0.95

_REORDER = 100


def build_index(
    folder: Path,
    rows: GalleryRows,
    *,
    gallery: str,
    generation: int,
    fingerprints: dict[str, int],
    distance: str,
    first_components: int,
    through: Mapping[str, Transform] | None = None,
    queries: Floats | None = None,
    target_recall: float = TARGET_RECALL,
    progress: Progress | None = None,
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
        through: Adapters that rows go through, by the version that made them.
        queries: (m, d) raw embeddings to measure recall with, best those of real
            queries; sampled rows by default, which are easier than queries that are
            like no row.
        target_recall: More leaves are searched, and then more rows reordered, until
            recall@10 comes to this; where it does not, search is exact.
        progress: Told the number of bytes of vectors that were read.

    Raises:
        UsageError: There are no rows, or no search has that recall.
        RegistryError: An adapter cannot map the rows, or the index cannot be written,
            for one because the disk is full.
    """
    if not len(rows):
        raise UsageError(f"The gallery {gallery!r} has no rows to index. Add some.")
    if not 0 < target_recall <= 1:
        raise UsageError(
            "`target_recall` should be above 0 and at most 1, which exact search has. "
            f"Received: {target_recall}."
        )
    through = through or {}
    size = 4 * len(rows) * first_components
    _refuse_full(folder.parent, size, gallery)
    vectors = index_vectors(
        rows, first_components, distance, through, progress, gallery=gallery
    )
    if queries is not None:
        queries = prepare(queries, first_components, distance)
    searcher, search = _build(vectors, queries, distance, target_recall)
    try:
        return _write(
            folder,
            rows,
            searcher,
            lambda files: IndexManifest(
                gallery=gallery,
                generation=generation,
                fingerprints=fingerprints,
                first_components=first_components,
                distance=distance,
                rows=len(rows),
                scann=importlib.metadata.version("scann"),
                files=files,
                adapters={
                    made_by: through[made_by].fingerprint
                    for made_by in fingerprints
                    if made_by in through
                },
                **search,
            ),
        )
    except OSError as error:
        raise RegistryError(
            f"The index of {gallery}, of {size:,} bytes and more, could not be "
            f"written to {folder.parent}: {error.strerror or error}. Nothing was "
            "published; make room and build it again."
        ) from error


def _write(
    folder: Path,
    rows: GalleryRows,
    searcher: Any,
    manifest_of: Callable[[dict[str, dict[str, Any]]], IndexManifest],
) -> IndexManifest:
    (folder / "scann").mkdir(parents=True)
    searcher.serialize(str(folder / "scann"))
    _refuse_cut_short(folder / "scann")
    _make_relative(folder / "scann" / "scann_assets.pbtxt")
    with pa.OSFile(str(folder / ROWS), "wb") as sink:
        table = rows.table.drop(["embedding"]).combine_chunks().unify_dictionaries()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    files = {
        path.relative_to(folder).as_posix(): asdict(digest_file(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    manifest = manifest_of(files)
    with open(folder / MANIFEST, "w", encoding="utf-8") as file:
        json.dump(
            {"schema": SCHEMA, **asdict(manifest)}, file, indent=1, sort_keys=True
        )
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
    sync_folder(folder / "scann")
    sync_folder(folder)
    return manifest


def _build(
    vectors: Floats, queries: Floats | None, distance: str, target_recall: float
) -> tuple[Any, dict[str, Any]]:
    """A searcher that comes to the recall, and what the manifest says of it."""
    scann = import_scann().scann_ops_pybind
    measure = "squared_l2" if distance == "l2" else "dot_product"
    builder = scann.builder(vectors, min(NEIGHBORS, len(vectors)), measure)
    tree_recall = None
    if len(vectors) > BRUTE_FORCE_ROWS and _fit_a_tree(vectors):
        leaves = leaves_of(len(vectors))
        tree = (
            builder.tree(
                num_leaves=leaves,
                num_leaves_to_search=max(1, leaves // 10),
                training_sample_size=min(len(vectors), 250_000),
            )
            .score_ah(2, anisotropic_quantization_threshold=0.2)
            .reorder(_REORDER)
            .build()
        )
        trial = Trial.of(vectors, queries, distance)
        tree_recall = 0.0
        for searched, reorder in _searches(leaves, len(vectors)):
            recall = trial.recall(tree, searched, reorder)
            if recall >= target_recall:
                return tree, {
                    "method": "tree_ah",
                    "leaves_to_search": searched,
                    "reorder": reorder,
                    "recall_at_10": recall,
                }
            tree_recall = max(tree_recall, recall)
        builder = scann.builder(vectors, NEIGHBORS, measure)
    return builder.score_brute_force().build(), {
        "method": "brute_force",
        "leaves_to_search": 0,
        "recall_at_10": 1.0,
        "tree_recall_at_10": tree_recall,
    }


def _searches(leaves: int, rows: int) -> Iterator[tuple[int, int]]:
    """Leaves to search and rows to reorder, from the quickest search on."""
    searched = max(1, leaves // 10)
    while searched < leaves:
        yield searched, _REORDER
        searched *= 2
    reorder = _REORDER
    # Beyond these, exact search takes no longer.
    while reorder <= min(rows // 8, 64 * _REORDER):
        yield leaves, reorder
        reorder *= 4


def _fit_a_tree(vectors: Floats) -> bool:
    """Whether ScaNN can train a tree; it ends the process where squares overflow."""
    return max(float(vectors.max()), -float(vectors.min())) <= LARGEST_IN_TREE


def _refuse_full(folder: Path, size: int, gallery: str) -> None:
    """Says that the disk is too small before the work and not after it."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise RegistryError(
            f"The index of {gallery} takes {size:,} bytes and more; the disk of "
            f"{folder} has {free:,} left. Nothing was built; make room and build it "
            "again."
        )


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
    text = assets.read_text(encoding="utf-8")
    assets.write_text(
        re.sub(r'asset_path: "(?:[^"]*/)?([^"/]+)"', r'asset_path: "\1"', text),
        encoding="utf-8",
    )
