"""How a directory gets into the registry: whole, or not at all.

A number is reserved first, the file that makes the directory usable is copied last, and
it is visible once the database says `registered`. Whatever instant the process dies at,
what is left is a reservation whose writer is dead; the next one of that model clears it
away. Numbers are never used twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.artifacts.storage import ArtifactRoot
from registry.artifacts.writer import Writer
from registry.errors import IntegrityError, RegistryError
from registry.fingerprint import MANIFEST, FileDigest, Progress, read_chunks
from registry.metadata.columns import now
from registry.metadata.database import Database
from registry.metadata.schema import AdapterRow, VersionRow

LEASE = timedelta(minutes=10)
"""How long a silent writer on another machine counts as alive."""

Row = TypeVar("Row", VersionRow, AdapterRow)


def place() -> dict[str, Any]:
    """The columns of a new reservation by this process."""
    moment = now()
    return {
        "state": "reserved",
        "writer": Writer.current().to_json(),
        "lease": moment + LEASE,
        "created": moment,
    }


def refuse_stranger(root: ArtifactRoot, row: VersionRow | AdapterRow) -> None:
    """Raises when something lies where the files are to go.

    Raises:
        RegistryError: The registry does not know it, so it is not overwritten.
    """
    if root.exists(*row.folder):
        raise RegistryError(
            f"{root.location(*row.folder)} is there but not in the registry. Move it "
            "away, then register again."
        )


def fill(
    database: Database,
    root: ArtifactRoot,
    row: Row,
    directory: Path,
    files: Mapping[str, FileDigest],
    *,
    about: Mapping[str, Any],
    last: Sequence[str],
    added: Mapping[str, bytes] | None = None,
    progress: Progress | None = None,
) -> Row:
    """Copies files to a reserved place and makes it visible.

    Args:
        database: Where the reservation is.
        root: Where the files go.
        row: The reservation.
        directory: Local folder of the files.
        files: Digest of each of them by relative path, as it was looked at.
        about: What the manifest says beside the files.
        last: Names of the files that are copied after all others, in this order.
        added: Content of those files that are not copied but written.
        progress: Told the number of bytes copied.

    Returns:
        The registered row.

    Raises:
        IntegrityError: The files changed while they were copied.
        RegistryError: They cannot be copied, for one because the disk is full.
    """
    try:
        _copy(database, root, row, directory, files, about, last, added or {}, progress)
        return publish(database, row)
    except BaseException as error:
        # Only what is unpublished: a signal may arrive just after the commit, and the
        # files of what is registered stay.
        if _abandon(database, row):
            root.remove(*row.folder)
            _forget(database, row)
        if isinstance(error, OSError):
            size = sum(file.size for file in files.values())
            raise RegistryError(
                f"{directory} ({size:,} bytes) could not be copied to "
                f"{root.location(*row.folder)}: {error.strerror or error}. Nothing was "
                "registered and nothing is left there; make room and register again."
            ) from error
        raise


def _copy(
    database: Database,
    root: ArtifactRoot,
    row: Row,
    directory: Path,
    files: Mapping[str, FileDigest],
    about: Mapping[str, Any],
    last: Sequence[str],
    added: Mapping[str, bytes],
    progress: Progress | None,
) -> None:
    renew_at = now() + LEASE / 10

    def report(size: int) -> None:
        nonlocal renew_at
        if progress is not None:
            progress(size)
        if now() > renew_at:
            renew_at = now() + LEASE / 10
            _renew(database, row)

    def copy(name: str) -> None:
        location = root.location(*row.folder, name)
        if name in added:
            root.write(location, [added[name]], report)
            return
        with open(directory / name, "rb") as stream:
            written = root.write(location, read_chunks(stream), report)
        if written != files[name]:
            raise IntegrityError(
                f"Files of {directory} changed while they were registered. "
                "Nothing was registered; register again when its writer is done.",
                [name],
            )

    for name in files:
        if name not in last:
            copy(name)
    manifest = {
        "schema": 1,
        "model": row.model,
        "fingerprint": row.fingerprint,
        "created": row.created.isoformat(),
        **about,
        "files": {name: asdict(digest) for name, digest in files.items()},
    }
    root.write(
        root.location(*row.folder, MANIFEST),
        [json.dumps(manifest, indent=1, sort_keys=True).encode()],
    )
    for name in last:
        if name in files:
            copy(name)


def _own(session: Session, row: Row) -> Row:
    mine = session.get(type(row), row.id)
    if mine is None or mine.writer != row.writer or mine.state != "reserved":
        raise RegistryError(
            f"The reservation of {row.name} was cleared by another process, since it "
            f"heard nothing for {LEASE}. Register again."
        )
    return mine


def _renew(database: Database, row: Row) -> None:
    with database.writing() as session:
        _own(session, row).lease = now() + LEASE


def publish(database: Database, row: Row) -> Row:
    """Makes a filled place visible, if it is still this writer's."""
    with database.writing() as session:
        mine = _own(session, row)
        mine.state = "registered"
        session.flush()
        return mine


def _abandon(database: Database, row: Row) -> bool:
    """Takes a reservation back; False when it has been published."""
    with database.writing() as session:
        mine = session.get(type(row), row.id)
        # None when it was cleared by another process: what was written since still
        # has to go, and nothing else ever gets this number.
        if mine is not None and mine.state == "registered":
            return False
        if mine is not None:
            mine.state = "abandoned"
        return True


def _forget(database: Database, row: Row) -> None:
    with database.writing() as session:
        mine = session.get(type(row), row.id)
        if mine is not None and mine.state == "abandoned":
            session.delete(mine)


def clear_dead(
    database: Database, root: ArtifactRoot, kind: type[Row], model: str
) -> list[str]:
    """Removes what writers left behind that died on the way.

    Args:
        database: Where the reservations are.
        root: Where the files are.
        kind: Versions or adapters.
        model: Name of the model.

    Returns:
        Names of what was cleared.
    """
    with database.writing() as session:
        dead = find_dead(session, kind, model)
        # Taken away from its writer first: should it wake up, it cannot publish
        # files that are being removed.
        for row in dead:
            row.state = "abandoned"
    for row in dead:
        root.remove(*row.folder)
        _forget(database, row)
    return [row.name for row in dead]


def find_dead(session: Session, kind: type[Row], model: str | None = None) -> list[Row]:
    """The reservations whose writers died on the way, of a model or of all."""
    query = select(kind).where(kind.state.not_in(("registered", "deleted")))
    if model is not None:
        query = query.where(kind.model == model)
    return [row for row in session.scalars(query) if _is_dead(row)]


def _is_dead(row: VersionRow | AdapterRow) -> bool:
    if row.state == "abandoned":
        return True
    alive = Writer.from_json(row.writer).alive()
    return now() > row.lease if alive is None else not alive
