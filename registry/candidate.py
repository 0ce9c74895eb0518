"""A SavedModel that is to become a version: what it says about itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_bct.distances import DISTANCES
from registry.errors import InvalidModelError, UsageError
from registry.fingerprint import FileDigest, Progress, combine, digest_file, list_files
from registry.saved_model import embedding_size


@dataclass(frozen=True)
class Candidate:
    """A directory that has been looked at and may be registered.

    Attributes:
        directory: Local folder with `saved_model.pb` directly inside.
        files: Digest of each file by relative path.
        fingerprint: SHA-256 over all of them.
        embedding_size: Components of its embedding.
        distance: What its embeddings are compared with.
        training: Summary of its training.
    """

    directory: Path
    files: Mapping[str, FileDigest]
    fingerprint: str
    embedding_size: int
    distance: str
    training: Mapping[str, Any]


def inspect(
    directory: Path,
    *,
    size: int | None = None,
    distance: str | None = None,
    training: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Candidate:
    """Reads what a SavedModel says about itself; loads no TensorFlow.

    Args:
        directory: Local folder with `saved_model.pb` directly inside.
        size: Embedding size, for a SavedModel that does not say it.
        distance: Distance, for a SavedModel that does not say it.
        training: Training summary, put in place of the one in `version.json`.
        progress: Told the number of bytes read.

    Raises:
        InvalidModelError: It is no SavedModel, it has no embedding output, or its
            size is another than `size` or `version.json` says.
        UsageError: Nothing says what the embedding size or the distance is.
    """
    declared = _declared(directory)
    measured = embedding_size(directory)
    sizes = {
        "the SavedModel's signature": measured,
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
    if not known:
        raise UsageError(
            f"Nothing says how many components the embedding of {directory} has. "
            "Pass `embedding_size` (--embedding-size on the command line)."
        )
    distance = distance or declared.get("distance")
    if distance not in DISTANCES:
        raise UsageError(
            f"`distance` should be one of {', '.join(DISTANCES)} (--distance on the "
            f"command line, or assets.extra/version.json). Received: {distance!r}."
        )
    paths = list_files(directory)
    files = {name: digest_file(paths[name], progress) for name in sorted(paths)}
    return Candidate(
        directory=directory,
        files=files,
        fingerprint=combine(files),
        embedding_size=next(iter(known.values())),
        distance=distance,
        training=plain(declared.get("training", {}) if training is None else training),
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
        content = json.loads(path.read_text())
    except ValueError as error:
        raise InvalidModelError(f"{path} is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.get("schema") != 1:
        raise InvalidModelError(
            f'{path} should be a JSON object with "schema": 1. '
            f"Received: {str(content)[:80]}."
        )
    return content
