"""Searching an index: through ScaNN's tree, or exactly.

ScaNN crashes the process on a wrong path and trusts its files, so the manifest and
every file are checked first.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.tables.arrow_file import map_arrow
from registry.errors import IntegrityError, UsageError
from registry.indices.exact_search import (
    Doubles,
    Floats,
    Rows,
    exact_search,
    pair_scores,
)
from registry.indices.manifest import (
    LARGEST_IN_TREE,
    ROWS,
    read_manifest,
    verify_index,
)
from registry.indices.scann_library import import_scann
from registry.indices.vectors import prepare

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Hit:
    """A row that a search found.

    Attributes:
        id: Of the row.
        label: Of the row, None where it is not known.
        camera: Of the row, None where it is not known.
        fingerprint: Of the version that made its embedding.
        adapter: Fingerprint of the adapter that its embedding went through, None for
            none.
        score: Cosine or inner product, higher is nearer; or for `l2` the squared
            distance, lower is nearer.
    """

    id: str
    label: str | None
    camera: str | None
    fingerprint: str
    adapter: str | None
    score: float


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
        self._rows = map_arrow(folder / ROWS)
        self._vectors = np.load(folder / "scann" / "dataset.npy", mmap_mode="r")
        self._tree: Any = None
        if self.manifest.method == "tree_ah":
            self._tree = _load(folder)

    def search(self, queries: npt.ArrayLike, k: int) -> list[list[Hit]]:
        """The `k` nearest rows of each query, nearest first.

        Args:
            queries: (n, d) raw embeddings, d at least the index's K.
            k: How many; all rows when there are fewer.

        Raises:
            UsageError: The queries are too narrow or not finite, or k is not positive.
        """
        with np.errstate(over="ignore"):
            vectors = np.asarray(queries, np.float32)
        size = self.manifest.first_components
        if vectors.ndim != 2 or vectors.shape[1] < size:
            raise UsageError(
                f"Queries should have shape (n, d) with d at least {size}. Received: "
                f"{vectors.shape}."
            )
        if not np.isfinite(vectors[:, :size]).all():
            row = int(np.flatnonzero(~np.isfinite(vectors[:, :size]).all(axis=1))[0])
            raise UsageError(
                "Queries should be finite in float32. Received NaN or infinity in row "
                f"{row}."
            )
        if k < 1:
            raise UsageError(f"`k` should be positive. Received: {k}.")
        k = min(k, self.manifest.rows)
        prepared = prepare(vectors, size, self.manifest.distance)
        rows, scores = self._nearest(prepared, k)
        if self.manifest.distance == "l2":
            scores = -scores
        return [
            self._hits(near, values) for near, values in zip(rows, scores, strict=True)
        ]

    def _nearest(self, queries: Floats, k: int) -> tuple[Rows, Doubles]:
        """Rows and scores, higher is nearer: through the tree where it serves."""
        distance = self.manifest.distance
        rows = np.empty((len(queries), k), np.int64)
        scores = np.empty((len(queries), k))
        exactly = np.ones(len(queries), bool)
        terms = self.manifest.tree_terms(k)
        if self._tree is not None and terms is not None:
            exactly = ~_fit_a_tree(queries)
            for number, near in self._through_tree(queries, k, terms, ~exactly):
                # A tree may come back with fewer rows than were asked for.
                if len(near) < k:
                    exactly[number] = True
                    continue
                query = queries[number : number + 1]
                values = pair_scores(query, self._vectors, near[None], distance)[0]
                order = np.lexsort((near, -values))
                rows[number], scores[number] = near[order], values[order]
        rows[exactly], scores[exactly] = exact_search(
            queries[exactly], self._vectors, k, distance
        )
        return rows, scores

    def _through_tree(
        self, queries: Floats, k: int, terms: tuple[int, int], which: Flags
    ) -> Iterator[tuple[int, Rows]]:
        """The rows that the tree finds, for those of the queries that it takes."""
        if not which.any():
            return
        leaves, reorder = terms
        found, near = self._tree.search_batched(
            queries[which],
            final_num_neighbors=k,
            leaves_to_search=leaves,
            pre_reorder_num_neighbors=reorder,
        )
        for number, rows, values in zip(
            np.flatnonzero(which), found, near, strict=True
        ):
            # What it has not found is filled up with NaN.
            yield int(number), np.asarray(rows)[np.isfinite(values)].astype(np.int64)

    def _hits(self, rows: Rows, scores: Doubles) -> list[Hit]:
        table = self._rows.take(rows).to_pylist()
        adapters = self.manifest.adapters
        return [
            Hit(**row, adapter=adapters.get(row["fingerprint"]), score=float(score))
            for row, score in zip(table, scores, strict=True)
        ]


def _load(folder: Path) -> Any:
    """Hands the files to ScaNN."""
    # It opens the paths that this text names, so it gets whole ones; and it would
    # unpickle a file that lies beside them, so it gets its own folder.
    with tempfile.TemporaryDirectory(prefix="scann-") as passing:
        own = (folder / "scann").absolute()
        shutil.copy(own / "scann_config.pb", passing)
        text = (own / "scann_assets.pbtxt").read_text(encoding="utf-8")
        Path(passing, "scann_assets.pbtxt").write_text(
            re.sub(
                r'asset_path: "([^"/]+)"',
                lambda match: f'asset_path: "{own.as_posix()}/{match.group(1)}"',
                text,
            ),
            encoding="utf-8",
        )
        return import_scann().scann_ops_pybind.load_searcher(passing)


def _fit_a_tree(queries: Floats) -> Flags:
    """Which queries have products with stored rows that are numbers of float32."""
    largest = np.abs(queries).max(axis=1)
    fit: Flags = (largest == 0) | (
        (largest <= LARGEST_IN_TREE) & (largest >= 1 / LARGEST_IN_TREE)
    )
    return fit
