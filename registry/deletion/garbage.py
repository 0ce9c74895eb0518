"""Files in a registry's folders that nothing of it names.

They are what processes left that were killed: on the way of a registration, an append,
a build or a deletion. What a process that still runs is about to name is left alone,
and so is what the registry knows nothing of, which may be another program's.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.artifacts import reservation
from registry.artifacts.storage import ArtifactRoot
from registry.errors import RegistryError
from registry.galleries.manifest import LOCK
from registry.galleries.segment import MANIFEST
from registry.galleries.store import is_nobodys
from registry.indices.store import nobody_builds
from registry.metadata.database import Database
from registry.metadata.schema import (
    AdapterRow,
    GalleryRow,
    IndexRow,
    ModelRow,
    VersionRow,
)
from registry.names import ADAPTERS, GALLERIES, INDICES

if TYPE_CHECKING:
    from registry.deletion.store import Deletion


@dataclass(frozen=True)
class Garbage:
    """Files that nobody names.

    Attributes:
        location: The file or folder.
        size: Bytes.
        why: How it came to be there.
        removed: Whether it was removed, or would be; else it stays.
    """

    location: str
    size: int
    why: str
    removed: bool = True


def collect(
    database: Database,
    root: ArtifactRoot,
    deleted: Sequence[Deletion] = (),
    *,
    dry_run: bool,
) -> list[Garbage]:
    """Finds what nobody names, and removes it.

    Args:
        database: Where the registry's state is.
        root: Where files are kept.
        deleted: Indices that were deleted on the way, to be told with the rest.
        dry_run: Only say it.
    """
    found = [
        Garbage(item.location or "", item.size, f"{item.name} is served by no alias")
        for item in deleted
    ]
    seen = {item.location for item in found}
    found += _dead_reservations(database, root, VersionRow, dry_run)
    found += _dead_reservations(database, root, AdapterRow, dry_run)
    # Whoever puts files in their place does so as the only writer of the database, so
    # nobody does while this one is.
    scope = database.reading() if dry_run else database.writing()
    with scope as session:
        for folder, why in _deleted_rows(session):
            if root.exists(*folder) and root.location(*folder) not in seen:
                found.append(Garbage(root.location(*folder), root.size(*folder), why))
                if not dry_run:
                    root.remove(*folder)
        if root.is_local:
            # One by one: each is removed while the lock is held that it was found by.
            for path, why in itertools.chain(
                _of_indices(session, root.path(INDICES)),
                _of_galleries(session, root.path(GALLERIES)),
            ):
                found.append(Garbage(str(path), _size(path), why))
                if not dry_run:
                    _remove(path)
            for path in _strangers(session, root.path()):
                found.append(
                    Garbage(str(path), _size(path), "not this registry's", False)
                )
    return found


def _dead_reservations(
    database: Database, root: ArtifactRoot, kind: type[reservation.Row], dry_run: bool
) -> list[Garbage]:
    with database.reading() as session:
        dead = reservation.find_dead(session, kind)
    found = [
        Garbage(
            root.location(*row.folder),
            root.size(*row.folder),
            f"the process that registered {row.name} died",
        )
        for row in dead
    ]
    if not dry_run:
        for model in {row.model for row in dead}:
            reservation.clear_dead(database, root, kind, model)
    return found


def _deleted_rows(session: Session) -> Iterator[tuple[tuple[str, ...], str]]:
    versions = select(VersionRow).where(VersionRow.state == "deleted")
    adapters = select(AdapterRow).where(AdapterRow.state == "deleted")
    for row in (*session.scalars(versions), *session.scalars(adapters)):
        yield row.folder, f"{row.name} was deleted"
    for index in session.scalars(select(IndexRow).where(IndexRow.state == "deleted")):
        name = f"{index.model}#{index.number}"
        yield (INDICES, index.model, str(index.number)), f"{name} was deleted"
    query = select(GalleryRow).where(GalleryRow.state == "deleted")
    for gallery in session.scalars(query):
        folder = (GALLERIES, *gallery.name.split("/"))
        if is_nobodys(session, folder):
            yield folder, f"the gallery {gallery.name} was deleted"


def _of_indices(session: Session, folder: Path) -> Iterator[tuple[Path, str]]:
    for model in session.scalars(select(ModelRow.name)):
        known = {
            str(number)
            for number in session.scalars(
                select(IndexRow.number).where(IndexRow.model == model)
            )
        }
        place = folder / model
        for path in sorted(place.glob("[0-9]*")):
            if path.name.isdigit() and path.name not in known:
                yield path, "the process that published it died"
        with nobody_builds(place) as alone:
            if alone:
                for path in sorted(place.glob(".building-*")):
                    yield path, "the process that built it died"


def _of_galleries(session: Session, folder: Path) -> Iterator[tuple[Path, str]]:
    from registry.galleries.gallery import Gallery
    from registry.galleries.manifest import locked

    for name in session.scalars(
        select(GalleryRow.name).where(GalleryRow.state == "registered")
    ):
        try:
            with locked(folder / name):
                for path in Gallery.open(folder / name).unnamed():
                    yield path, "the process that wrote it died"
        except RegistryError:
            # Damaged or lost: `verify` says so, and nothing of it is removed.
            continue
    for unknown in _unknown_galleries(session, folder):
        if _is_half_made(unknown):
            yield unknown, "the process that made it died"


def _unknown_galleries(session: Session, folder: Path) -> list[Path]:
    known = {folder / name for name in session.scalars(select(GalleryRow.name))}
    found = sorted(manifest.parent for manifest in folder.rglob("manifest.json"))
    return [path for path in found if path not in known]


def _is_half_made(gallery: Path) -> bool:
    """Whether a gallery's folder has no rows, and nothing of anybody else."""
    made = {MANIFEST, f"{MANIFEST}.partial", LOCK}
    return all(path.name in made for path in gallery.iterdir())


def _strangers(session: Session, root: Path) -> Iterator[Path]:
    """Numbered folders of models, and galleries, that the database does not know."""
    rows = [
        *session.scalars(select(VersionRow)),
        *session.scalars(select(AdapterRow)),
    ]
    known = {root.joinpath(*row.folder) for row in rows}
    for model in session.scalars(select(ModelRow.name)):
        for folder in (root / model, root / ADAPTERS / model):
            numbered = sorted(folder.glob("[0-9]*"))
            yield from (path for path in numbered if path not in known)
        copies = sorted((root / INDICES / model).glob("[0-9]*"))
        yield from (path for path in copies if not path.name.isdigit())
    for unknown in _unknown_galleries(session, root / GALLERIES):
        if not _is_half_made(unknown):
            yield unknown


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
