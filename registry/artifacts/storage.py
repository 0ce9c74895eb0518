"""The artifact root: any fsspec URL, a local folder by default."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from registry.errors import RegistryError, UsageError
from registry.fingerprint import FileDigest, Progress, digest_chunks, read_chunks
from registry.metadata.database_url import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable


class ArtifactRoot:
    """A folder of files that other programs serve from.

    Files reach the disk before the call that writes them returns. On a local root
    a file appears under its name only when it is whole; object stores do so
    anyway.
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        """Takes a local path or a URL such as `gs://bucket/registry`.

        Raises:
            UsageError: The URL holds a password, or `~` is nobody's home.
        """
        text = os.fspath(url)
        self.is_local = "://" not in text or text.startswith("file://")
        if self.is_local:
            path = Path(text.removeprefix("file://"))
            try:
                text = str(path.expanduser().absolute())
            except RuntimeError as error:
                raise UsageError(
                    f"The root {str(path)!r} begins with a home folder that this "
                    f"machine does not know: {error} Write the path from / on."
                ) from error
        elif without_secrets(text) != text:
            raise UsageError(
                f"The root {without_secrets(text)!r} holds a password, and a root is "
                "printed and kept. Leave it out, and give it to fsspec by the "
                "environment: https://filesystem-spec.readthedocs.io, 'Configuration'."
            )
        self.url = text.rstrip("/") or "/"

    @cached_property
    def _fs(self) -> Any:
        # Imported late: listing the registry touches no file of the root.
        import fsspec

        if self.is_local:
            # Not by its URL, in which a path may have what means something else.
            return fsspec.filesystem("file")
        try:
            return fsspec.core.url_to_fs(self.url)[0]
        except (ImportError, ValueError) as error:
            raise UsageError(
                f"The root {self.url!r} cannot be opened: {error}"
            ) from error

    def location(self, *parts: str) -> str:
        """Full path or URL of something below the root."""
        return "/".join([self.url, *parts])

    def path(self, *parts: str) -> Path:
        """Local path of something below the root.

        Raises:
            RegistryError: The root is not local.
        """
        if not self.is_local:
            raise RegistryError(
                f"Expected a local artifact root, since this works on mapped files. "
                f"Received: {self.url!r}. Mount it, or copy it to a local folder."
            )
        return Path(self.url, *parts)

    def _name(self, location: str) -> str:
        return str(self._fs._strip_protocol(location))

    def exists(self, *parts: str) -> bool:
        """Whether there is a file or folder at this place."""
        return bool(self._fs.exists(self._name(self.location(*parts))))

    def files(self, *parts: str) -> dict[str, str]:
        """Full names of all files below a folder, by their relative path."""
        base = self._name(self.location(*parts)).rstrip("/")
        with contextlib.suppress(FileNotFoundError):
            self._fs.invalidate_cache()
            return {name[len(base) + 1 :]: name for name in self._fs.find(base)}
        return {}

    def is_readable(self, *parts: str) -> bool:
        """Whether this is a file; a pipe would hold up whoever opens it."""
        return not self.is_local or self.path(*parts).is_file()

    def open(self, *parts: str) -> BinaryIO:
        """Opens a file for reading."""
        stream: BinaryIO = self._fs.open(self._name(self.location(*parts)), "rb")
        return stream

    def write(
        self, location: str, chunks: Iterable[bytes], progress: Progress | None = None
    ) -> FileDigest:
        """Writes a file that appears whole or not at all.

        Args:
            location: As `location()` gives it; folders on the way are made.
            chunks: The content.
            progress: Told the size of each chunk after it was written.

        Returns:
            Size and SHA-256 of what was written.

        Raises:
            OSError: The file system refuses; nothing appears at `location`.
        """
        name = self._name(location)
        folder = name.rpartition("/")[0]
        self._fs.makedirs(folder, exist_ok=True)
        target = f"{name}.partial" if self.is_local else name
        try:
            with self._fs.open(target, "wb") as stream:

                def pass_on() -> Iterator[bytes]:
                    for chunk in chunks:
                        stream.write(chunk)
                        yield chunk

                digest = digest_chunks(pass_on(), progress)
                if self.is_local:
                    stream.flush()
                    os.fsync(stream.fileno())
            if self.is_local:
                os.replace(target, name)
                sync_folder(Path(folder))
        except BaseException:
            with contextlib.suppress(OSError):
                self._fs.rm_file(target)
            raise
        return digest

    def size(self, *parts: str) -> int:
        """Bytes of a file, or of all files below a folder; 0 when it is not there."""
        with contextlib.suppress(FileNotFoundError):
            return int(self._fs.du(self._name(self.location(*parts))))
        return 0

    def remove(self, *parts: str) -> None:
        """Removes a folder with all that is below it; nothing when it is not there.

        `saved_model.pb` or `manifest.json` goes first, so that no server takes a half
        removed version, and who reads is told that it is gone and not that it is
        damaged.
        """
        name = self._name(self.location(*parts))
        for first in ("saved_model.pb", "manifest.json"):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self._fs.rm_file(f"{name}/{first}")
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(name, recursive=True)

    @contextlib.contextmanager
    def local_copy(self, *parts: str) -> Iterator[Path]:
        """A local folder with the files below `parts`: itself, or a passing copy."""
        if self.is_local:
            yield self.path(*parts)
            return
        with tempfile.TemporaryDirectory(prefix="registry-") as folder:
            for relative, name in self.files(*parts).items():
                target = Path(folder, relative)
                target.parent.mkdir(parents=True, exist_ok=True)
                with self._fs.open(name, "rb") as source, open(target, "wb") as sink:
                    sink.writelines(read_chunks(source))
            yield Path(folder)


def sync_folder(folder: Path) -> None:
    """Makes the names in a local folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
