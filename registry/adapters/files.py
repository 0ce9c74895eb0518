"""An adapter's directory: what it says of itself, and opening it to map vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from registry.errors import InvalidAdapterError, UsageError
from registry.fingerprint import FileDigest, Progress, combine, digest_file, list_files

if TYPE_CHECKING:
    from keras_bct.adapters import AdapterDescription, OldToNew

DESCRIPTION = "adapter.json"


@dataclass(frozen=True)
class AdapterCandidate:
    """A directory that has been looked at and may be registered.

    Attributes:
        directory: Local folder with `adapter.json` directly inside.
        description: What `adapter.json` says.
        files: Digest of each file by relative path.
        fingerprint: SHA-256 over all of them.
    """

    directory: Path
    description: AdapterDescription
    files: Mapping[str, FileDigest]
    fingerprint: str


def inspect_adapter(
    directory: Path, progress: Progress | None = None
) -> AdapterCandidate:
    """Reads what an adapter says of itself; loads no map.

    Args:
        directory: Local folder with `adapter.json` directly inside.
        progress: Told the number of bytes read.

    Raises:
        InvalidAdapterError: It is no adapter, its files are not those that it was
            saved with, or the registry cannot keep what it says of itself.
    """
    from keras_bct.adapters import AdapterDescription
    from registry.metadata.schema import LARGEST_INTEGER, LONGEST_METHOD

    try:
        description = AdapterDescription.read(directory)
    except (OSError, ValueError) as error:
        raise InvalidAdapterError(f"{directory} is no adapter: {error}") from error
    for name in ("pairs", "side_size"):
        number = getattr(description, name)
        if number is not None and number > LARGEST_INTEGER:
            raise InvalidAdapterError(
                f"`{name}` of {directory} should be at most {LARGEST_INTEGER}, as the "
                f"registry keeps it. Received: {number}; save the adapter again."
            )
    if len(description.method) > LONGEST_METHOD:
        raise InvalidAdapterError(
            f"`method` of {directory} should be of at most {LONGEST_METHOD} "
            f"characters. Received: {description.method!r}; save the adapter again."
        )
    paths = list_files(directory)
    files = {name: digest_file(paths[name], progress) for name in sorted(paths)}
    said = {DESCRIPTION: files[DESCRIPTION].sha256, **description.files}
    bad = sorted(
        name
        for name in {*said, *files}
        if name not in files or files[name].sha256 != said.get(name)
    )
    if bad:
        raise InvalidAdapterError(
            f"The files of {directory} should be those that its {DESCRIPTION} names. "
            f"Received others: {', '.join(map(repr, bad[:5]))}. Save the adapter again."
        )
    return AdapterCandidate(directory, description, files, combine(files))


def open_adapter(directory: Path, old_fingerprint: str) -> OldToNew:
    """Loads an adapter to map stored vectors of the old version.

    Args:
        directory: Local folder with `adapter.json` directly inside.
        old_fingerprint: Of the version that made the vectors.

    Raises:
        UsageError: It cannot map them: another version's, the other direction, or it
            needs side information, which galleries do not store.
    """
    from keras_bct.adapters import OldToNew, load_adapter

    try:
        adapter = load_adapter(directory)
    except (OSError, ValueError) as error:
        raise InvalidAdapterError(f"{directory} is no adapter: {error}") from error
    if not isinstance(adapter, OldToNew):
        raise UsageError(
            "Stored vectors go through an adapter from old to new. Received: "
            f"{directory}, which is {adapter.direction}."
        )
    if adapter.old_fingerprint != old_fingerprint:
        raise UsageError(
            f"The adapter in {directory} maps vectors of fingerprint "
            f"{adapter.old_fingerprint[:12]}. Received: vectors of "
            f"{old_fingerprint[:12]}; take the adapter that was fitted for them."
        )
    if adapter.side_size is not None:
        raise UsageError(
            f"The adapter in {directory} needs side information of "
            f"{adapter.side_size} components for every vector, which galleries do not "
            "store. Fit one without."
        )
    return adapter
