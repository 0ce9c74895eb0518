r"""What a version's files are, in 64 characters.

The fingerprint can be computed again without this project:

    cd DIRECTORY
    find . -type f ! -path ./assets.extra/manifest.json -printf '%P\0' \
        | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from registry.errors import InvalidModelError

MANIFEST = "assets.extra/manifest.json"
"""The registry's own manifest inside a version; the fingerprint leaves it out."""

CHUNK = 1 << 20

Progress = Callable[[int], object]
"""Told the number of bytes that were just read."""


@dataclass(frozen=True)
class FileDigest:
    """Size in bytes and SHA-256 of one file."""

    size: int
    sha256: str


def read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Yields what is left in `stream`, a MiB at a time."""
    while chunk := stream.read(CHUNK):
        yield chunk


def digest_chunks(
    chunks: Iterable[bytes], progress: Progress | None = None
) -> FileDigest:
    """Size and SHA-256 of the bytes that `chunks` yields."""
    sha, size = hashlib.sha256(), 0
    for chunk in chunks:
        sha.update(chunk)
        size += len(chunk)
        if progress is not None:
            progress(len(chunk))
    return FileDigest(size, sha.hexdigest())


def digest_file(path: Path, progress: Progress | None = None) -> FileDigest:
    """Size and SHA-256 of the file at `path`."""
    with open(path, "rb") as stream:
        return digest_chunks(read_chunks(stream), progress)


def list_files(directory: Path) -> dict[str, Path]:
    """All files under `directory` by their relative POSIX path, manifest left out.

    Raises:
        InvalidModelError: A folder is a symbolic link, a file is neither a file
            nor a link to one, or its name has a line break or backslash (which
            `sha256sum` would write in another way) or is not UTF-8.
    """
    files: dict[str, Path] = {}
    for folder, folders, names in os.walk(directory):
        for name in folders:
            if os.path.islink(os.path.join(folder, name)):
                raise InvalidModelError(
                    f"{folder}/{name} is a symbolic link to a folder, which would "
                    "not be copied. Put the folder itself there."
                )
        for name in names:
            path = Path(folder, name)
            relative = path.relative_to(directory).as_posix()
            if not (path.is_file() and _is_plain(relative)):
                raise InvalidModelError(
                    f"{relative!r} in {directory} cannot be part of a version: "
                    "expected a regular file whose name is UTF-8 without a line break "
                    "or backslash."
                )
            files[relative] = path
    files.pop(MANIFEST, None)
    return files


def _is_plain(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in name and "\\" not in name


def digest_files(
    directory: Path, progress: Progress | None = None
) -> dict[str, FileDigest]:
    """Digest of each file under `directory`, by relative POSIX path."""
    files = list_files(directory)
    return {name: digest_file(files[name], progress) for name in sorted(files)}


def combine(files: Mapping[str, FileDigest]) -> str:
    """Fingerprint of files that are digested already.

    It is the SHA-256 of what `sha256sum` prints for them in byte order of their
    names.

    >>> combine({"saved_model.pb": FileDigest(0, hashlib.sha256().hexdigest())})
    '3bceb2bafbd264cc4b6c59459278f61873beef4e74212b706de2b07cbbaa05ff'
    """
    sha = hashlib.sha256()
    # By their bytes in UTF-8, whatever encoding the file system is said to have.
    for name in sorted(files, key=str.encode):
        sha.update(f"{files[name].sha256}  {name}\n".encode())
    return sha.hexdigest()


def fingerprint(directory: str | os.PathLike[str]) -> str:
    """SHA-256 over the files of a version in a fixed order, its manifest left out.

    Args:
        directory: A local folder with `saved_model.pb` directly inside.

    Returns:
        64 hexadecimal characters.
    """
    return combine(digest_files(Path(directory)))
