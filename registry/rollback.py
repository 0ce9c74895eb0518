"""Undoing the last move of an alias: version, index and protocol together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.alias_moves import Standing, find_index, move, no_alias, standing
from registry.compatibility import Vectors, stranded, stranded_in
from registry.database import Database
from registry.errors import GateRefusedError, RegistryError
from registry.removed_rows import brought_back
from registry.schema import AliasMoveRow, GalleryRow, IndexRow, VersionRow


def before(
    database: Database, model: str, alias: str, index: int | None
) -> tuple[AliasMoveRow, VersionRow, IndexRow | None]:
    """The move that a rollback would undo, and what it would put into service.

    That is no index where the one that is served stays.

    Args:
        database: Where aliases are kept.
        model: Name of the model.
        alias: The alias.
        index: Number of an index to serve in place of the one before the move.

    Raises:
        NotFoundError: There is no such alias.
        RegistryError: There is nothing to go back to.
    """
    with database.reading() as session:
        now_at = standing(session, model, alias)
        last = _to_undo(session, model, alias, now_at)
        version, earlier = _ends(session, last)
        to_serve = _to_serve(session, model, earlier, index)
        if to_serve is now_at.index:
            to_serve = None
        return last, version, to_serve


def rollback(
    database: Database,
    model: str,
    alias: str,
    *,
    index: int | None,
    verified: int,
    galleries: Path | None,
    reason: str | None,
    force: bool,
    command: str,
) -> AliasMoveRow | None:
    """Undoes the last move of an alias that has not been undone yet.

    Version, served index and protocol go back together.

    Args:
        database: Where aliases are kept.
        model: Name of the model.
        alias: The alias.
        index: Number of an index to serve in place of the one before the move.
        verified: Key of the move to undo; what will be served then has been verified.
        galleries: Folder of the registry's galleries.
        reason: What the history is to say.
        force: Go back even over vectors that the earlier version cannot search, and
            to an index with rows that were removed.
        command: How the command line of this registry begins.

    Returns:
        The new row of its history, None when the alias has moved meanwhile and would
        go back to what has not been verified.

    Raises:
        GateRefusedError: Vectors were added since that the earlier version has no
            edge to; they would not be found, or found wrongly. Or rows were removed
            that the index still has.
        RegistryError: There is nothing to go back to.
    """
    with database.writing() as session:
        now_at = standing(session, model, alias)
        last = _to_undo(session, model, alias, now_at)
        if last.id != verified:
            return None
        version, earlier = _ends(session, last)
        to_serve = _to_serve(session, model, earlier, index)
        reasons = _left_behind(
            session, version, now_at.index, earlier, to_serve, galleries, command
        )
        if index is not None and to_serve is not None:
            reasons += [
                f"the index {model}#{index} has {phrase}"
                for phrase in stranded_in(
                    session, version.fingerprint, to_serve, command=command
                )
            ]
        reasons += brought_back(session, to_serve, now_at.index, galleries, command)
        if reasons and not force:
            raise GateRefusedError(
                f"{model}@{alias} is not rolled back to {version.name}; "
                "nothing was changed:",
                reasons,
            )
        return move(
            session,
            model,
            alias,
            "rollback",
            now_at,
            version_id=version.id,
            index_id=None if to_serve is None else to_serve.id,
            protocol=last.from_protocol,
            protocol_digest=last.from_protocol_digest,
            reason=reason,
            undoes=last.id,
        )


def _to_undo(
    session: Session, model: str, alias: str, now_at: Standing
) -> AliasMoveRow:
    """The last move that has not been undone."""
    if now_at.version is None:
        raise no_alias(session, model, alias)
    rows = session.scalars(
        select(AliasMoveRow)
        .where(AliasMoveRow.model == model, AliasMoveRow.alias == alias)
        .order_by(AliasMoveRow.id.desc())
    ).all()
    undone = {row.undoes for row in rows}
    last = next(
        (row for row in rows if row.undoes is None and row.id not in undone), None
    )
    if last is None or last.from_version_id is None:
        raise RegistryError(
            f"{model}@{alias} has stood at {model}/{now_at.version.number} from the "
            "start; there is no move to undo."
        )
    return last


def _ends(session: Session, last: AliasMoveRow) -> tuple[VersionRow, IndexRow | None]:
    """The version and the index that a move went away from."""
    index = last.from_index_id
    return (
        # With its own predecessor, where it is in the session as another's.
        session.get_one(VersionRow, last.from_version_id, populate_existing=True),
        None if index is None else session.get_one(IndexRow, index),
    )


def _to_serve(
    session: Session, model: str, earlier: IndexRow | None, index: int | None
) -> IndexRow | None:
    return earlier if index is None else find_index(session, model, index)


def _left_behind(
    session: Session,
    version: VersionRow,
    served: IndexRow | None,
    earlier: IndexRow | None,
    to_serve: IndexRow | None,
    galleries: Path | None,
    command: str,
) -> list[str]:
    """Sentences on vectors added since that `version` may not search."""
    places: dict[str, Mapping[str, int]] = {}
    unread: list[str] = []
    if served is not None:
        places[f"the served index {served.model}#{served.number}"] = served.fingerprints
    names = {row.gallery for row in (served, earlier, to_serve) if row is not None}
    if not names:
        query = select(GalleryRow.name).where(GalleryRow.model == version.model)
        names = set(session.scalars(query))
    if names and galleries is not None:
        from registry.gallery import Gallery

        for name in sorted(names):
            try:
                gallery = Gallery.open(galleries / name)
            except RegistryError as error:
                # Whoever forces it knows; an outage is when galleries are lost.
                unread.append(
                    f"nobody knows which vectors the gallery {name} has got since: "
                    f"{error} Put it back from a copy"
                )
            else:
                places[f"the gallery {name}"] = gallery.fingerprints
    # What the earlier index held was there before the move that is being undone.
    known = set(earlier.fingerprints if earlier else ())
    return unread + [
        f"{where} has {phrase}"
        for where, vectors in places.items()
        for phrase in stranded(
            session,
            version.fingerprint,
            [
                Vectors(made_by, None, rows)
                for made_by, rows in sorted(vectors.items())
                if made_by not in known
            ],
            command=command,
            either_way=True,
        )
    ]
