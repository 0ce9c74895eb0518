"""Whether files are those that were registered, and which are not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from registry.artifacts.storage import ArtifactRoot
from registry.fingerprint import (
    MANIFEST,
    FileDigest,
    Progress,
    combine,
    digest_chunks,
    read_chunks,
)


class Stored(Protocol):
    """A version or an adapter: files of the root with a fingerprint."""

    @property
    def name(self) -> str:
        """What commands call it."""

    @property
    def folder(self) -> tuple[str, ...]:
        """Where its files lie below the root."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over its files."""


def check_stored(
    root: ArtifactRoot, stored: Stored, progress: Progress | None = None
) -> list[str]:
    """Names of the files of a version or adapter that are missing, changed or too many.

    The fingerprint in the database decides; the manifest beside the files, which
    whoever changed them may have changed too, only says which ones they are.
    """
    found: dict[str, FileDigest] = {}
    for name in root.files(*stored.folder):
        if name != MANIFEST:
            if not root.is_readable(*stored.folder, name):
                return [f"{name}: is no file, but a link or a pipe"]
            with root.open(*stored.folder, name) as stream:
                found[name] = digest_chunks(read_chunks(stream), progress)
    try:
        with root.open(*stored.folder, MANIFEST) as stream:
            manifest = json.load(stream)
        bad = differences(manifest["files"], found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"{MANIFEST}: cannot be read ({error})"]
    if bad or combine(found) == stored.fingerprint:
        return bad
    return [
        f"{MANIFEST}: does not belong to {stored.name}; files and manifest agree with "
        f"each other, but not with the fingerprint {stored.fingerprint[:12]}"
    ]


def differences(
    expected: Mapping[str, Mapping[str, Any]], found: Mapping[str, FileDigest]
) -> list[str]:
    """One line for each file that is not as its manifest says.

    >>> differences({"a": {"size": 1, "sha256": "0"}}, {})
    ['a: missing']
    """
    lines = []
    for name in sorted({*expected, *found}):
        if name not in found:
            lines.append(f"{name}: missing")
        elif name not in expected:
            lines.append(f"{name}: was not registered")
        elif found[name].size != expected[name]["size"]:
            lines.append(
                f"{name}: {found[name].size:,} bytes in place of "
                f"{expected[name]['size']:,}"
            )
        elif found[name].sha256 != expected[name]["sha256"]:
            lines.append(f"{name}: content changed")
    return lines
