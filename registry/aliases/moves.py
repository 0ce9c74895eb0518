"""Where an alias stands, and moving it: one row of history and the alias with it."""

from __future__ import annotations

import getpass
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from keras_bct.did_you_mean import did_you_mean
from registry.aliases.alias import Action
from registry.errors import NotFoundError
from registry.metadata.schema import AliasMoveRow, AliasRow, IndexRow, VersionRow
from registry.versions.known_model import require_model

ATTEMPTS = 20
"""How often a decision is made again when the alias moves meanwhile."""


@dataclass(frozen=True)
class Standing:
    """Where an alias stands, read at one instant.

    Attributes:
        version: Its version, None while there is no such alias.
        index: The index served with it.
        protocol: The protocol file of its gate.
        protocol_digest: Of that file's content when the alias last moved by it.
        move_id: The last row of its history; tells whether it has moved since.
    """

    version: VersionRow | None
    index: IndexRow | None
    protocol: str | None
    protocol_digest: str | None
    move_id: int | None


def standing(session: Session, model: str, alias: str) -> Standing:
    """Where `model@alias` stands; all None when there is no such alias."""
    row = session.get(AliasRow, (model, alias))
    if row is None:
        return Standing(None, None, None, None, None)
    last = session.get_one(AliasMoveRow, row.move_id)
    return Standing(
        row.version, row.index, row.protocol, last.to_protocol_digest, row.move_id
    )


def no_alias(session: Session, model: str, alias: str) -> NotFoundError:
    """What is raised over an alias that is not there; it names those that are.

    Raises:
        NotFoundError: There is no such model either.
    """
    require_model(session, model)
    there = session.scalars(select(AliasRow.name).where(AliasRow.model == model)).all()
    return NotFoundError(
        f"There is no alias {model}@{alias}.{did_you_mean(alias, there)} {model} has: "
        f"{', '.join(sorted(there)) or 'none'}."
    )


def find_index(session: Session, model: str, number: int) -> IndexRow:
    """The row of an index.

    Raises:
        NotFoundError: There is none.
    """
    row = session.scalars(
        select(IndexRow).where(
            IndexRow.model == model,
            IndexRow.number == number,
            IndexRow.state == "registered",
        )
    ).one_or_none()
    if row is None:
        require_model(session, model)
        numbers = session.scalars(
            select(IndexRow.number)
            .where(IndexRow.model == model, IndexRow.state == "registered")
            .order_by(IndexRow.number)
        )
        raise NotFoundError(
            f"There is no index {model}#{number}. The registry has: "
            f"{', '.join(f'{model}#{n}' for n in numbers) or 'none'}."
        )
    return row


def move(
    session: Session,
    model: str,
    alias: str,
    action: Action,
    now_at: Standing,
    *,
    version_id: int,
    index_id: int | None,
    protocol: str | None,
    protocol_digest: str | None,
    reason: str | None = None,
    evidence_ids: Sequence[int] = (),
    undoes: int | None = None,
) -> AliasMoveRow:
    """Writes one row of history and moves the alias with it."""
    row = AliasMoveRow(
        model=model,
        alias=alias,
        action=action,
        from_version_id=now_at.version.id if now_at.version else None,
        to_version_id=version_id,
        from_index_id=now_at.index.id if now_at.index else None,
        to_index_id=index_id,
        from_protocol=now_at.protocol,
        to_protocol=protocol,
        from_protocol_digest=now_at.protocol_digest,
        to_protocol_digest=protocol_digest,
        reason=reason,
        evidence_ids=list(evidence_ids),
        undoes=undoes,
        moved_by=f"{_user()}@{platform.node()}"[:200],
    )
    session.add(row)
    session.flush()
    session.merge(
        AliasRow(
            model=model,
            name=alias,
            version_id=version_id,
            index_id=index_id,
            protocol=protocol,
            move_id=row.id,
        )
    )
    session.flush()
    return row


def _user() -> str:
    # A container may run under a number that no user of it has.
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
