"""What an index is, stored beside it, and whether its files are those it names."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from registry.artifacts.integrity import differences
from registry.errors import IntegrityError, RegistryError
from registry.fingerprint import Progress, digest_file

MANIFEST = "manifest.json"
ROWS = "rows.arrow"
SCHEMA = 3

LARGEST_IN_TREE = 1e15
"""Largest component that a tree takes; squares of larger ones leave float32's range."""


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
        method: `"brute_force"`, exact search; or `"tree_ah"`.
        leaves_to_search: Of the tree, 0 for brute force.
        recall_at_10: Share of the true ten nearest that it finds; exact search says
            which these are.
        scann: Version of ScaNN that built it.
        files: Size and SHA-256 by relative path.
        adapters: For rows that were transformed the fingerprint of the adapter, by that
            of the version that made them.
        reorder: How many rows of the tree are compared again by their whole vectors.
        tree_recall_at_10: Of the best tree, where exact search took its place because
            no tree came to the recall that was asked for; else None.
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
    adapters: dict[str, str] = field(default_factory=dict, hash=False)
    reorder: int = 100
    tree_recall_at_10: float | None = None

    def tree_terms(self, k: int) -> tuple[int, int] | None:
        """How many leaves and reordered rows `k` neighbours take; None for all rows.

        The recall was measured at ten neighbours. More of them lie in more leaves, so
        ten times as many take ten times the search; where that comes to all of the
        tree, exact search takes no longer.
        """
        if self.method != "tree_ah":
            return None
        times = math.ceil(k / 10)
        terms = self.leaves_to_search * times, self.reorder * times
        if times > 1 and (terms[0] >= leaves_of(self.rows) or 4 * terms[1] > self.rows):
            return None
        return terms

    def how(self) -> str:
        """How it searches, as a part of a sentence."""
        if self.method == "tree_ah":
            return (
                f"{self.leaves_to_search:,} of {leaves_of(self.rows):,} leaves, "
                f"{self.reorder:,} rows reordered"
            )
        if self.tree_recall_at_10 is None:
            return "exact search"
        return f"exact search, since a tree came to {self.tree_recall_at_10:.4f} only"


def leaves_of(rows: int) -> int:
    """How many leaves the tree of an index of so many rows has."""
    return math.isqrt(rows)


def read_manifest(folder: Path) -> tuple[IndexManifest, str]:
    """Reads the manifest of an index, and says its SHA-256.

    Raises:
        IntegrityError: It is missing or cannot be read.
    """
    try:
        data = (folder / MANIFEST).read_bytes()
        content = json.loads(data)
        schema = content.pop("schema")
        # Those of earlier releases have no adapters, or say nothing of reordering.
        if schema not in range(1, SCHEMA + 1):
            raise RegistryError(
                f"The index in {folder} has schema {schema!r}; this release reads 1 "
                f"to {SCHEMA}. Build it again, or upgrade with `pip install --upgrade "
                "keras-bct`."
            )
        return IndexManifest(**content), hashlib.sha256(data).hexdigest()
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise IntegrityError(
            f"The manifest of the index in {folder} cannot be read: {error}.",
            [MANIFEST],
        ) from error


def verify_index(
    folder: Path,
    manifest_sha256: str | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Names of the files of an index that are missing, changed or too many.

    Args:
        folder: Of the index.
        manifest_sha256: Of the manifest, as the registry knows it.
        progress: Told the number of bytes that were read.
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
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            try:
                files[name] = digest_file(path, progress)
            except OSError as error:
                return [f"{name}: cannot be read: {error.strerror}"]
    files.pop(MANIFEST)
    return differences(manifest.files, files)
