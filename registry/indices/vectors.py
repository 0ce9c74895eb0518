"""Stored vectors and queries as ScaNN gets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from registry.errors import RegistryError, UsageError
from registry.fingerprint import Progress
from registry.galleries.rows import GalleryRows

if TYPE_CHECKING:
    from keras_bct.adapters import OldToNew
    from registry.galleries.gallery import Gallery

_BLOCK = 1 << 14

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Transform:
    """An adapter that an index's rows go through.

    Attributes:
        name: What commands call it, for messages.
        fingerprint: Of its files.
        adapter: The map.
    """

    name: str
    fingerprint: str
    adapter: OldToNew


def prepare(vectors: Floats, first_components: int, distance: str) -> Floats:
    """Vectors as ScaNN gets them: cut first, then for cosine made unit length.

    >>> prepare(np.array([[3.0, 4.0, 9.0]], np.float32), 2, "cosine").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    cut = np.ascontiguousarray(vectors[:, :first_components], np.float32)
    if distance != "cosine":
        return cut
    # In float64: the squares of 1e25 and of 1e-25 leave float32's range.
    wide = cut.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    # A vector of zeros has no direction; it stays, and is as far from all others.
    scaled: Floats = (wide / np.where(norms > 0, norms, 1)).astype(np.float32)
    return scaled


def components(
    gallery: Gallery, mapped: Mapping[str, int], first_components: int | None
) -> int:
    """How many components of all rows an index compares.

    Args:
        gallery: Whose rows they are.
        mapped: Components of rows that go through an adapter, by the version that made
            them.
        first_components: How many are asked for; by default the gallery's own, and
            with adapters all.

    Raises:
        UsageError: More than some rows have, or the rows differ and nothing says it.
    """
    sizes = {made_by: mapped.get(made_by, n) for made_by, n in gallery.sizes.items()}
    fewest = min(sizes.values(), default=gallery.embedding_size)
    if first_components is None and mapped and len(set(sizes.values())) > 1:
        raise UsageError(
            "All rows of an index should have as many components, or "
            "`first_components` (--first-components) say how many are compared. "
            f"Received: {' and '.join(map(str, sorted(set(sizes.values()))))}, some "
            "through an adapter and some as they are stored."
        )
    size = first_components
    if size is None:
        size = fewest if mapped else gallery.embedding_size
    if not 1 <= size <= fewest:
        raise UsageError(
            f"`first_components` (--first-components) should be 1 to {fewest}, which "
            f"all rows have. Received: {size}."
        )
    return size


def index_vectors(
    rows: GalleryRows,
    first_components: int,
    distance: str,
    through: Mapping[str, Transform],
    progress: Progress | None = None,
    *,
    gallery: str,
) -> Floats:
    """A gallery's vectors as ScaNN gets them, read and mapped a block at a time.

    Args:
        rows: Memory-mapped rows.
        first_components: K, how many components are indexed.
        distance: `"cosine"`, `"l2"` or `"inner_product"`.
        through: The adapters, by the version whose rows they map.
        progress: Told the number of bytes of vectors that were read.
        gallery: Name of the gallery, for messages.

    Returns:
        (n, K) float32.

    Raises:
        RegistryError: An adapter cannot map the rows, or maps them to infinity.
    """
    vectors = np.empty((len(rows), first_components), np.float32)
    start = 0
    for batch in rows.table.to_batches(max_chunksize=_BLOCK):
        block = GalleryRows(batch)
        stored = block.embeddings
        into = vectors[start : start + len(block)]
        makers = batch.column("fingerprint")
        names, numbers = makers.dictionary.to_pylist(), makers.indices.to_numpy()
        for number in np.unique(numbers):
            mine = slice(None) if len(names) == 1 else numbers == number
            into[mine] = prepare(
                _transformed(stored[mine], names[number], through, gallery),
                first_components,
                distance,
            )
        start += len(block)
        if progress is not None:
            progress(stored.nbytes)
    return vectors


def _transformed(
    stored: Floats, made_by: str, through: Mapping[str, Transform], gallery: str
) -> Floats:
    transform = through.get(made_by)
    if transform is None:
        return stored
    try:
        mapped: Floats = transform.adapter.transform(stored, fingerprint=made_by)
    except ValueError as error:
        raise RegistryError(
            f"Vectors of {made_by[:12]} in the gallery {gallery} cannot go through "
            f"{transform.name}: {error} Nothing was published; fit the adapter again."
        ) from error
    return mapped
