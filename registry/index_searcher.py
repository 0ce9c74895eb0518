"""Searching an index.

ScaNN crashes the process on a wrong path and trusts its files, so the manifest and
every file are checked first.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from registry.errors import IntegrityError, UsageError
from registry.index_manifest import ROWS, read_manifest, verify_index
from registry.index_vectors import prepare
from registry.scann_library import import_scann


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
        with pa.memory_map(str(folder / ROWS), "r") as source:
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
        adapters = self.manifest.adapters
        return [
            Hit(**row, adapter=adapters.get(row["fingerprint"]), score=s)
            for row, (_, s) in zip(table, pairs, strict=True)
        ]
