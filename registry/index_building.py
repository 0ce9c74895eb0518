"""Building a search index: ScaNN over a gallery's stored vectors.

An index is a folder that can be moved: ScaNN's own files in `scann/`, `rows.arrow` with
the ids in row order, and a manifest.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from registry.errors import RegistryError, UsageError
from registry.fingerprint import Progress, digest_file
from registry.gallery_rows import GalleryRows
from registry.index_manifest import MANIFEST, ROWS, SCHEMA, IndexManifest
from registry.index_recall import NEIGHBORS, Trial
from registry.index_vectors import Floats, Transform, index_vectors, prepare
from registry.scann_library import import_scann
from registry.storage import sync_folder

BRUTE_FORCE_ROWS = 4000
"""Up to this many rows the exact search is as fast, and exact."""

TARGET_RECALL = 0.95


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
        target_recall: More leaves are searched until recall@10 comes to this.
        progress: Told the number of bytes of vectors that were read.

    Raises:
        UsageError: There are no rows.
        RegistryError: An adapter cannot map the rows, or the index cannot be written,
            for one because the disk is full.
    """
    if not len(rows):
        raise UsageError(f"The gallery {gallery!r} has no rows to index. Add some.")
    through = through or {}
    vectors = index_vectors(
        rows, first_components, distance, through, progress, gallery=gallery
    )
    if queries is not None:
        queries = prepare(queries, first_components, distance)
    trial = Trial.of(vectors, queries, distance)
    searcher, method, leaves, recall = _build(vectors, distance, trial, target_recall)
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
        adapters={
            made_by: through[made_by].fingerprint
            for made_by in fingerprints
            if made_by in through
        },
    )
    with open(folder / MANIFEST, "w") as file:
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
    vectors: Floats, distance: str, trial: Trial, target_recall: float
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
