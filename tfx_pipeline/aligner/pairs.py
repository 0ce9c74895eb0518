"""Old and new embeddings of the same pictures; what is stored is not embedded again."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.classifier import Classifier
from keras_bct.data import ImageRecords
from keras_bct.models import load_embedder
from registry import Registry, Version
from registry.galleries.vector_check import refuse_other_vectors, sample_rows


@dataclasses.dataclass(frozen=True)
class Pairs:
    """What a map is fitted to.

    Attributes:
        old: (n, d_old) float32.
        new: (n, d_new) float32, of the same pictures in the same order.
        labels: n classes by name.
        classifier: The new model's own, None where it has none.
        old_fingerprint: Of the version that made the old embeddings.
        new_fingerprint: Of the new model.
    """

    old: NDArray[Any]
    new: NDArray[Any]
    labels: Sequence[str]
    classifier: Classifier | None
    old_fingerprint: str
    new_fingerprint: str


def old_embeddings(
    registry: Registry, version: Version, records: ImageRecords, gallery: str
) -> tuple[NDArray[Any], int]:
    """A version's embeddings of pictures: the stored ones, and the rest embedded once.

    Args:
        registry: The registry.
        version: The version.
        records: The pictures.
        gallery: Name of the gallery whose rows by this version are used; empty for
            none.

    Returns:
        (n, d) float32 in the order of the pictures, and how many were stored.

    Raises:
        ValueError: The version's stored rows are of another size than it makes.
        InvalidGalleryError: Rows that were imported unchecked are not what the version
            makes of their pictures.
    """
    stored = _stored(registry, version, gallery) if gallery else {}
    if stored and version.fingerprint in registry.gallery(gallery).unchecked:
        _compare(registry, version, records, stored)
    ids = [str(name) for name in records.ids]
    missing = [row for row, name in enumerate(ids) if name not in stored]
    embeddings = np.empty((len(ids), version.embedding_size), np.float32)
    if missing:
        with registry.local_version(version) as directory:
            embeddings[missing] = load_embedder(directory).embed_bytes(
                [records.images[row] for row in missing], [ids[row] for row in missing]
            )
    for row, name in enumerate(ids):
        if name in stored:
            embeddings[row] = stored[name]
    return embeddings, len(ids) - len(missing)


def _compare(
    registry: Registry,
    version: Version,
    records: ImageRecords,
    stored: Mapping[str, NDArray[Any]],
) -> None:
    """Raises where stored rows are not what the version makes of these pictures."""
    held = [name for name in map(str, records.ids) if name in stored]
    if not held:
        return
    rows, shown = sample_rows(held, [str(name) for name in records.ids])
    names = [held[row] for row in rows]
    with registry.local_version(version) as directory:
        embeddings = load_embedder(directory).embed_bytes(
            [records.images[row] for row in shown], names
        )
    refuse_other_vectors(
        names,
        np.stack([stored[name] for name in names]),
        embeddings,
        version=str(version),
        distance=version.distance,
    )


def _stored(
    registry: Registry, version: Version, gallery: str
) -> dict[str, NDArray[Any]]:
    opened = registry.gallery(gallery)
    # Not the gallery's own: rows of a version that is mapped have their own size.
    size = opened.sizes.get(version.fingerprint, version.embedding_size)
    if size != version.embedding_size:
        raise ValueError(
            f"`aligner.embeddings` should be a gallery whose rows by {version} have "
            f"{version.embedding_size} components, as it makes them. Received: "
            f"{gallery!r}, where they have {size}."
        )
    # Read as they were written, or not at all.
    opened.check(fingerprint=version.fingerprint)
    rows = opened.read(version.fingerprint)
    return dict(zip(map(str, rows.column("id")), rows.embeddings, strict=True))
