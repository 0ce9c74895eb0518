"""Rolling an alias back: version, index and protocol together.

By default the last move is undone, which may have been that of an index alone; or all
moves since the alias left a version that it has stood at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.aliases.compatibility import Vectors, stranded, stranded_in, ways_to_reach
from registry.aliases.moves import Standing, find_index, move, no_alias, standing
from registry.aliases.removed_rows import brought_back
from registry.errors import (
    GateRefusedError,
    NotFoundError,
    RegistryError,
    UsageError,
)
from registry.metadata.database import Database
from registry.metadata.schema import AliasMoveRow, GalleryRow, IndexRow, VersionRow


@dataclass(frozen=True)
class RollbackPlan:
    """What a rollback will do, said before it is done.

    Attributes:
        alias: Such as `"glyphs@production"`.
        from_version: Where it stands.
        to_version: Where it will stand.
        from_index: The index that is served, such as `"glyphs#3"`.
        to_index: The index that will be.
        protocol: The protocol file that will be the alias's own.
        undoes: The moves that are undone, the first of them first.
        in_the_way: What speaks against it, one sentence each with the ways out: rows
            that will not be found any more, or removed ones that will be found again.
    """

    alias: str
    from_version: str
    to_version: str
    from_index: str | None
    to_index: str | None
    protocol: str | None
    undoes: tuple[int, ...]
    in_the_way: tuple[str, ...]

    def __str__(self) -> str:
        """As text, one thing a line."""
        moves = ", ".join(map(str, self.undoes))
        lines = [
            f"{self.alias}: {self.from_version} -> {self.to_version} (undoes "
            f"{'move' if len(self.undoes) == 1 else 'moves'} {moves})"
        ]
        if self.from_index != self.to_index:
            lines.append(
                f"  index: {self.from_index or 'none'} -> {self.to_index or 'none'}"
            )
        if self.from_version == self.to_version:
            lines.append(
                "  the version stays, since the last move was not its own; to go back "
                "to another one: --to VERSION"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Step:
    """A plan, with the rows of the database that it is about.

    Attributes:
        plan: What will be done.
        undone: The first move that is undone.
        version: Where the alias will stand.
        to_serve: The index that will be served.
        is_served: Whether it is served already.
        now_at: Where the alias stands.
    """

    plan: RollbackPlan
    undone: AliasMoveRow
    version: VersionRow
    to_serve: IndexRow | None
    is_served: bool
    now_at: Standing


def plan_rollback(
    session: Session,
    model: str,
    alias: str,
    *,
    to: str | None,
    index: int | None,
    galleries: Path | None,
    command: str,
) -> Step:
    """Looks up what a rollback would do, and what speaks against it.

    Args:
        session: The registry's state.
        model: Name of the model.
        alias: The alias.
        to: The version to go back to, such as `"glyphs/1"`; None undoes the last move.
        index: Number of an index to serve in place of the earlier one.
        galleries: Folder of the registry's galleries.
        command: How the command line of this registry begins.

    Raises:
        NotFoundError: There is no such alias, or it has not stood at that version.
        RegistryError: There is nothing to go back to.
    """
    now_at = standing(session, model, alias)
    if now_at.version is None:
        raise no_alias(session, model, alias)
    moves = live_moves(session, model, alias)
    if to is None:
        first = _last_move(moves, model, alias, now_at.version)
    else:
        first = _move_away(session, moves, f"{model}@{alias}", now_at.version, to)
    # With its own predecessor, where it is in the session as another's.
    version = session.get_one(VersionRow, first.from_version_id, populate_existing=True)
    if version.state != "registered":
        raise RegistryError(
            f"{model}@{alias} cannot go back to {version.name}, which was deleted. "
            "Name another version by --to."
        )
    earlier = None
    if first.from_index_id is not None:
        earlier = session.get_one(IndexRow, first.from_index_id)
    to_serve = earlier if index is None else find_index(session, model, index)
    if to_serve is not None and to_serve.state != "registered":
        raise RegistryError(
            f"{model}@{alias} cannot go back to {_index_name(to_serve)}, which was "
            f"deleted. Build another (`{command} index {to_serve.gallery}`) and name "
            "it by --index."
        )
    reasons = _left_behind(
        session, version, now_at, earlier, to_serve, galleries, command, alias
    )
    if index is not None and to_serve is not None:
        reasons += [
            f"the index {model}#{index} has {phrase}"
            for phrase in stranded_in(
                session, version.fingerprint, to_serve, command=command
            )
        ]
    reasons += brought_back(session, to_serve, now_at.index, galleries, command)
    return Step(
        RollbackPlan(
            alias=f"{model}@{alias}",
            from_version=now_at.version.name,
            to_version=version.name,
            from_index=None if now_at.index is None else _index_name(now_at.index),
            to_index=None if to_serve is None else _index_name(to_serve),
            protocol=first.from_protocol,
            undoes=tuple(row.id for row in reversed(moves) if row.id >= first.id),
            in_the_way=tuple(reasons),
        ),
        first,
        version,
        to_serve,
        to_serve is now_at.index,
        now_at,
    )


def rollback(
    database: Database,
    model: str,
    alias: str,
    *,
    to: str | None,
    index: int | None,
    verified: Step,
    galleries: Path | None,
    reason: str | None,
    force: bool,
    command: str,
) -> AliasMoveRow | None:
    """Rolls an alias back: version, served index and protocol together.

    Args:
        database: Where aliases are kept.
        model: Name of the model.
        alias: The alias.
        to: The version to go back to; None undoes the last move.
        index: Number of an index to serve in place of the earlier one.
        verified: What was looked up before, and whose files have been verified.
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
        step = plan_rollback(
            session,
            model,
            alias,
            to=to,
            index=index,
            galleries=galleries,
            command=command,
        )
        if step.undone.id != verified.undone.id:
            return None
        if step.plan.in_the_way and not force:
            raise GateRefusedError(
                f"{model}@{alias} is not rolled back to {step.version.name}; "
                "nothing was changed:",
                step.plan.in_the_way,
            )
        return move(
            session,
            model,
            alias,
            "rollback",
            step.now_at,
            version_id=step.version.id,
            index_id=None if step.to_serve is None else step.to_serve.id,
            protocol=step.undone.from_protocol,
            protocol_digest=step.undone.from_protocol_digest,
            reason=reason,
            undoes=step.undone.id,
        )


def live_moves(session: Session, model: str, alias: str) -> list[AliasMoveRow]:
    """The moves that stand, the last one first: no rollbacks, and none undone by one.

    A rollback undoes a move and all that came after it.
    """
    rows = session.scalars(
        select(AliasMoveRow)
        .where(AliasMoveRow.model == model, AliasMoveRow.alias == alias)
        .order_by(AliasMoveRow.id.desc())
    )
    live = []
    undone_from: int | None = None
    for row in rows:
        if row.undoes is not None:
            undone_from = min(row.undoes, undone_from or row.undoes)
        elif undone_from is None or row.id < undone_from:
            live.append(row)
            if row.from_version_id is None:
                break
    return live


def _last_move(
    moves: list[AliasMoveRow], model: str, alias: str, stands: VersionRow
) -> AliasMoveRow:
    if moves[0].from_version_id is None:
        raise RegistryError(
            f"{model}@{alias} has stood at {stands.name} from the start; there is no "
            "move to undo."
        )
    return moves[0]


def _move_away(
    session: Session,
    moves: list[AliasMoveRow],
    alias: str,
    stands: VersionRow,
    to: str,
) -> AliasMoveRow:
    """The move by which the alias left a version last."""
    stood: dict[str, None] = {}
    for row in moves:
        if row.from_version_id not in (None, row.to_version_id):
            name = session.get_one(VersionRow, row.from_version_id).name
            if name == to:
                return row
            stood[name] = None
    if to == stands.name:
        raise UsageError(
            f"{alias} stands at {to} already. To go back to the index before, roll "
            "back without --to."
        )
    raise NotFoundError(
        f"{alias} cannot go back to {to}: the versions that it has come from are "
        f"{', '.join(stood) or 'none'}. To move it to another one, promote that."
    )


def _index_name(index: IndexRow) -> str:
    return f"{index.model}#{index.number}"


def _left_behind(
    session: Session,
    version: VersionRow,
    now_at: Standing,
    earlier: IndexRow | None,
    to_serve: IndexRow | None,
    galleries: Path | None,
    command: str,
    alias: str,
) -> list[str]:
    """Sentences on vectors added since that `version` may not search, with ways out."""
    served = now_at.index
    places: dict[str, tuple[str, Mapping[str, int]]] = {}
    sentences: list[str] = []
    if served is not None:
        where = f"the served index {_index_name(served)}"
        places[where] = served.gallery, served.fingerprints
    names = {row.gallery for row in (served, earlier, to_serve) if row is not None}
    if not names:
        query = select(GalleryRow.name).where(
            GalleryRow.model == version.model, GalleryRow.state == "registered"
        )
        names = set(session.scalars(query))
    if names and galleries is not None:
        from registry.galleries.gallery import Gallery

        for name in sorted(names):
            try:
                opened = Gallery.open(galleries / name)
            except RegistryError as error:
                # Whoever forces it knows; an outage is when galleries are lost.
                sentences.append(
                    f"nobody knows which vectors the gallery {name} has got since: "
                    f"{error} Put it back from a copy"
                )
            else:
                places[f"the gallery {name}"] = name, opened.fingerprints
    # What the earlier index held was there before the move that is being undone.
    known = set(earlier.fingerprints if earlier else ())
    for where, (gallery, vectors) in places.items():
        for made_by, rows in sorted(vectors.items()):
            if made_by in known:
                continue
            sentences += [
                f"{where} has {phrase}"
                + ways_to_reach(
                    session,
                    version,
                    f"{version.model}@{alias}",
                    gallery,
                    made_by,
                    now_at.protocol,
                    command,
                    "go back with --force --reason TEXT, which leaves them "
                    "unreachable, and build an index of the others",
                )
                for phrase in stranded(
                    session,
                    version.fingerprint,
                    [Vectors(made_by, None, rows)],
                    command=command,
                    either_way=True,
                )
            ]
    return sentences
