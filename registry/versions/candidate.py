"""A SavedModel that is to become a version: what it says about itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_bct.distances import DISTANCES
from keras_bct.embedding_parts import NOTHING_NAMED, PARTS_FILE, EmbeddingParts
from registry.errors import InvalidModelError, UsageError
from registry.fingerprint import (
    FileDigest,
    Progress,
    combine,
    digest_chunks,
    digest_file,
    list_files,
)
from registry.versions.saved_model import try_embedding


@dataclass(frozen=True)
class Candidate:
    """A directory that has been looked at and may be registered.

    Attributes:
        directory: Local folder with `saved_model.pb` directly inside.
        files: Digest of each file by relative path.
        added: Content of the files that registering adds to those of the directory.
        fingerprint: SHA-256 over all of them.
        embedding_size: Components of its embedding.
        distance: What its embeddings are compared with.
        training: Summary of its training.
        parts: The names of what it embeds by.
    """

    directory: Path
    files: Mapping[str, FileDigest]
    added: Mapping[str, bytes]
    fingerprint: str
    embedding_size: int
    distance: str
    training: Mapping[str, Any]
    parts: EmbeddingParts


def inspect(
    directory: Path,
    *,
    named: EmbeddingParts = NOTHING_NAMED,
    size: int | None = None,
    distance: str | None = None,
    training: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Candidate:
    """Reads what a SavedModel says about itself, and lets it embed pictures.

    Parts that are named go into a file of the version, so they count for its
    fingerprint: another output of the same files is another version.

    Args:
        directory: Local folder with `saved_model.pb` directly inside.
        named: The parts to embed by, as far as they are named.
        size: Embedding size, to refuse a SavedModel of another one.
        distance: Distance, for a SavedModel that does not say it.
        training: Training summary, put in place of the one in `version.json`.
        progress: Told the number of bytes read.

    Raises:
        InvalidModelError: It is no SavedModel, it does not embed pictures, or its
            size is another than `size` or `version.json` says.
        UsageError: Nothing says what the distance is.
    """
    declared = _declared(directory)
    parts, measured = try_embedding(directory, named)
    sizes = {
        "what it gives for a picture": measured,
        "assets.extra/version.json": declared.get("embedding_size"),
        "the argument `embedding_size`": size,
    }
    known = {origin: value for origin, value in sizes.items() if value is not None}
    for origin, value in known.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InvalidModelError(
                f"`embedding_size` by {origin} should be a positive int. "
                f"Received: {value!r}."
            )
    if len(set(known.values())) > 1:
        raise InvalidModelError(
            f"The embedding size of {directory} is contradictory: "
            + ", ".join(f"{value} by {origin}" for origin, value in known.items())
            + ". Register it with the size that it really has."
        )
    distance = distance or declared.get("distance")
    if distance not in DISTANCES:
        raise UsageError(
            f"`distance` should be one of {', '.join(DISTANCES)} (--distance on the "
            f"command line, or assets.extra/version.json). Received: {distance!r}."
        )
    paths = list_files(directory)
    added = {}
    if named != NOTHING_NAMED:
        added[PARTS_FILE] = parts.to_json().encode()
    files = {
        name: digest_chunks([added[name]])
        if name in added
        else digest_file(paths[name], progress)
        for name in sorted({*paths, *added})
    }
    return Candidate(
        directory=directory,
        files=files,
        added=added,
        fingerprint=combine(files),
        embedding_size=measured,
        distance=distance,
        training=plain(declared.get("training", {}) if training is None else training),
        parts=parts,
    )


def plain(training: Any) -> dict[str, Any]:
    """A training summary as JSON has it, which knows neither NaN nor infinity.

    Raises:
        InvalidModelError: It is no mapping.
        UsageError: It holds what JSON cannot.
    """
    if not isinstance(training, Mapping):
        raise InvalidModelError(
            f"`training` should be a mapping. Received: {training!r}."
        )
    try:
        text = json.dumps(dict(training))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"`training` should be what JSON can hold: {error}."
        ) from error
    plain: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
    return plain


def _declared(directory: Path) -> dict[str, Any]:
    path = directory / "assets.extra" / "version.json"
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidModelError(f"{path} is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.get("schema") != 1:
        raise InvalidModelError(
            f'{path} should be a JSON object with "schema": 1. '
            f"Received: {str(content)[:80]}."
        )
    return content
