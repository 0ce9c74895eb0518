"""Searching an alias: its version embeds the query, its index is searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from registry.errors import InvalidModelError, UsageError
from registry.indices.search_index import SearchIndex
from registry.versions.version import Version

if TYPE_CHECKING:
    from registry.indices.searcher import Hit


def search_pictures(
    model: Path,
    version: Version,
    index: SearchIndex,
    pictures: Sequence[bytes],
    ids: Sequence[str],
    k: int,
) -> list[list[Hit]]:
    """Embeds encoded pictures and finds the nearest rows of each.

    Args:
        model: Local folder of the version.
        version: The version of the queries; its edges have been looked at.
        index: The index to search.
        pictures: Encoded pictures of any size and usual format.
        ids: What the pictures are called, for messages.
        k: How many rows each.

    Raises:
        UsageError: A picture cannot be read, or there is none.
        IntegrityError: Files of the index are not those that were written.
    """
    from registry.indices.searcher import Searcher

    if not pictures:
        raise UsageError("There are no pictures to search with. Name at least one.")
    if k < 1:
        raise UsageError(f"`k` should be positive. Received: {k}.")
    if version.embedding_size < index.first_components:
        raise InvalidModelError(
            f"{index} compares {index.first_components} components; {version} has "
            f"{version.embedding_size}."
        )
    searcher = Searcher(Path(index.location), index.manifest_sha256)
    from keras_bct.models import load_embedder
    from registry.versions.fitted_pictures import fitted_pictures

    try:
        embedder = load_embedder(model, expected_size=version.embedding_size)
        fitted = fitted_pictures(pictures, ids, embedder.image_shape)
        queries = embedder.embed_bytes(fitted, list(ids))
    except ValueError as error:
        raise UsageError(str(error)) from error
    return searcher.search(queries, k)
