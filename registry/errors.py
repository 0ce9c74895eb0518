"""Errors of the registry; each carries the exit code of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class RegistryError(Exception):
    """Anything that stops the registry; exit code 1."""

    exit_code: ClassVar[int] = 1


class UsageError(RegistryError):
    """The caller asked for something that cannot be asked; exit code 2."""

    exit_code: ClassVar[int] = 2


class NameRefusedError(UsageError):
    """A name of a model, alias or gallery that the registry does not accept."""


class NotFoundError(UsageError):
    """A model, version, alias, adapter, gallery or index that is not there."""


class VersionExistsError(UsageError):
    """The version, or one with the same files, is registered already.

    Attributes:
        version: Name of the version that is there, such as `"glyphs/3"`.
    """

    def __init__(self, message: str, version: str) -> None:
        """Keeps `version` beside the message, for callers that want to go on."""
        super().__init__(message)
        self.version = version


class AdapterExistsError(UsageError):
    """An adapter with the same files is registered already.

    Attributes:
        adapter: Name of the adapter that is there, such as `"glyphs:1"`.
    """

    def __init__(self, message: str, adapter: str) -> None:
        """Keeps `adapter` beside the message, for callers that want to go on."""
        super().__init__(message)
        self.adapter = adapter


class InvalidAdapterError(UsageError):
    """A directory that is not an adapter between two registered versions."""


class InvalidModelError(UsageError):
    """A directory that is not a SavedModel with an embedding output."""


class InvalidGalleryError(UsageError):
    """Rows that a gallery does not accept: NaN, another width, an id twice."""


class GateRefusedError(RegistryError):
    """The gate does not let this through; nothing was changed; exit code 3.

    Attributes:
        reasons: One sentence for each thing that is in the way, with its numbers.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        """Joins the reasons to the message, one a line."""
        super().__init__("\n".join([message, *(f"  - {r}" for r in reasons)]))
        self.reasons = tuple(reasons)


class IntegrityError(RegistryError):
    """Files are not those that were registered; exit code 4.

    Attributes:
        files: Names of the files that are missing, changed or too many.
    """

    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, files: Sequence[str] = ()) -> None:
        """Joins the names of the bad files to the message, one a line."""
        super().__init__("\n".join([message, *(f"  - {f}" for f in files)]))
        self.files = tuple(files)


class RowsRemovedError(RegistryError):
    """Rows of a gallery were removed while it was read; read the new generation."""


class SchemaError(RegistryError):
    """The database has a schema that this release cannot work with."""
