"""Moving an alias: through the gate, past it with a reason, or back."""

from __future__ import annotations

import getpass
import platform
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.alias import Action
from registry.compatibility import Terms, name_of, stranded
from registry.database import Database
from registry.errors import GateRefusedError, NotFoundError, RegistryError, UsageError
from registry.registration import find
from registry.schema import (
    AliasMoveRow,
    AliasRow,
    EvidenceRow,
    GalleryRow,
    IndexRow,
    VersionRow,
)

if TYPE_CHECKING:
    from keras_bct.evaluation import Gate, Protocol
    from registry.fingerprint import Progress

ATTEMPTS = 20
"""How often a decision is made again when the alias moves meanwhile."""


@dataclass(frozen=True)
class Standing:
    """Where an alias stands, read at one instant.

    Attributes:
        version: Its version, None while there is no such alias.
        index: The index served with it.
        protocol: The protocol file of its gate.
        move_id: The last row of its history; tells whether it has moved since.
    """

    version: VersionRow | None
    index: IndexRow | None
    protocol: str | None
    move_id: int | None


@dataclass(frozen=True)
class Demand:
    """What a promotion is asked to hold.

    Attributes:
        confidence: At least the protocol's own.
        min_gain: At least the protocol's own.
        galleries: Folder of the registry's galleries.
        command: How the command line of this registry begins, for the commands that
            a refusal proposes.
        progress: Told the number of bytes of data that were digested.
    """

    confidence: float | None
    min_gain: float | None
    galleries: Path | None
    command: str
    progress: Progress | None = None


def standing(session: Session, model: str, alias: str) -> Standing:
    """Where `model@alias` stands; all None when there is no such alias."""
    row = session.get(AliasRow, (model, alias))
    if row is None:
        return Standing(None, None, None, None)
    return Standing(row.version, row.index, row.protocol, row.move_id)


def judge(
    session: Session,
    candidate: VersionRow,
    fingerprints: Collection[str],
    protocol_path: str,
    demand: Demand,
) -> tuple[list[str], list[int]]:
    """Asks the gate about each fingerprint that `candidate` has to work with.

    Evidence counts when it is about both fingerprints, and when the protocol and its
    data are what they were; of several the newest counts.

    Args:
        session: The registry's state.
        candidate: The version to promote.
        fingerprints: Versions whose vectors it would search.
        protocol_path: Protocol file of the alias.
        demand: What to ask for beyond the protocol.

    Returns:
        What is in the way, one sentence each, and the evidence that was read.
    """
    from registry.protocol_data import ProtocolData, read_protocol

    protocol = read_protocol(protocol_path)
    _refuse_less(protocol, demand)
    data = ProtocolData(protocol, demand.galleries, demand.progress)
    digest = protocol.digest()
    reasons: list[str] = []
    evidence_ids: list[int] = []
    for old in sorted(set(fingerprints) - {candidate.fingerprint}):
        old_name = name_of(session, old)
        about = f"{candidate.model}/{candidate.number} against {old_name}"
        rows = session.scalars(
            select(EvidenceRow)
            .where(
                EvidenceRow.new_fingerprint == candidate.fingerprint,
                EvidenceRow.old_fingerprint == old,
            )
            .order_by(EvidenceRow.id.desc())
        ).all()
        data_digest = data.digest(old)
        fit = [
            row
            for row in rows
            if row.protocol_digest == digest and row.data_digest == data_digest
        ]
        if not fit:
            reasons.append(
                f"{about}: {_why_missing(rows, protocol, digest)}; measure it with\n"
                f"      {_evaluate(demand, candidate, old_name, protocol_path)}"
            )
            continue
        evidence_ids.append(fit[0].id)
        reasons += [
            f"{about} (evidence {fit[0].id}): {reason}"
            for reason in _decide(fit[0], protocol, demand)
        ]
    return reasons, evidence_ids


def _decide(row: EvidenceRow, protocol: Protocol, demand: Demand) -> Sequence[str]:
    from keras_bct.evaluation import Comparison, decide

    gate: Gate = protocol.gate
    decision = decide(
        Comparison.from_json(row.comparison),
        gate,
        confidence=demand.confidence,
        min_gain=demand.min_gain,
    )
    if decision.answer == "yes":
        return ()
    return decision.reasons or (f"the gate answers {decision.answer}",)


def _refuse_less(protocol: Protocol, demand: Demand) -> None:
    """Edges hold for the protocol's own gate, so a promotion cannot ask for less."""
    for name, asked, own in (
        ("confidence", demand.confidence, protocol.gate.confidence),
        ("min_gain", demand.min_gain, protocol.gate.min_gain),
    ):
        if asked is not None and own is not None and asked < own:
            raise UsageError(
                f"`{name}` asks for more than the protocol does, never for less: the "
                f"gate of {protocol.name!r} asks for {own:g}. Received: {asked:g}. To "
                "ask for less, change the protocol and measure by it."
            )


def _why_missing(rows: Sequence[EvidenceRow], protocol: Protocol, digest: str) -> str:
    if not rows:
        return f"there is no evidence under the protocol {protocol.name!r}"
    if all(row.protocol_digest != digest for row in rows):
        return (
            f"evidence {rows[0].id} was measured by another protocol or another "
            f"content of it ({rows[0].protocol_digest[:12]}, now {digest[:12]})"
        )
    return (
        f"evidence {rows[0].id} was measured on other data than those that "
        f"{protocol.name!r} names now"
    )


def _evaluate(demand: Demand, candidate: VersionRow, old: str, protocol: str) -> str:
    new = f"{candidate.model}/{candidate.number}"
    return (
        f"{demand.command} evaluate {new} --against {old} "
        f"--protocol {shlex.quote(protocol)}"
    )


def promote(
    database: Database,
    model: str,
    number: int,
    alias: str,
    *,
    demand: Demand,
    require_compatible: bool,
    protocol: str | None,
    index: int | None,
    reason: str | None,
) -> AliasMoveRow | None:
    """Moves `model@alias` to a version, and with `index` to an index, in one step.

    Args:
        database: Where aliases are kept.
        model: Name of the model.
        number: The version to promote; its files have been verified.
        alias: The alias, made when it is new.
        demand: What to ask for beyond the protocol.
        require_compatible: Ask the gate; else `reason` says why not.
        protocol: Protocol file, for a new alias or in place of its own.
        index: Number of the index to serve from now on; None keeps the served one.
        reason: What the history is to say.

    Returns:
        The new row of its history, None when it stands there already.

    Raises:
        GateRefusedError: The gate does not pass. Nothing has changed.
    """
    for _ in range(ATTEMPTS):
        with database.reading() as session:
            candidate = find(session, model, number)
            now_at = standing(session, model, alias)
            served = (
                now_at.index if index is None else find_index(session, model, index)
            )
            path = protocol or now_at.protocol
            evidence_ids: list[int] = []
            if require_compatible:
                evidence_ids = _pass_gate(
                    session, candidate, now_at, served, path, alias, demand
                )
            # After the gate: where a version stands that was forced there, whoever
            # asks for compatibility must not hear that all is well.
            if _stands(now_at, candidate, served, path):
                return None
        action: Action = "bootstrap" if now_at.version is None else "promote"
        if not require_compatible:
            action = "force"
        with database.writing() as session:
            # The gate took its time; it judged where the alias stood then.
            if standing(session, model, alias).move_id != now_at.move_id:
                continue
            return move(
                session,
                model,
                alias,
                action,
                now_at,
                version_id=candidate.id,
                index_id=None if served is None else served.id,
                protocol=path,
                reason=reason,
                evidence_ids=evidence_ids,
            )
    raise RegistryError(
        f"{model}@{alias} was moved by others {ATTEMPTS} times while it was being "
        "judged. Nothing was changed; promote again."
    )


def _pass_gate(
    session: Session,
    candidate: VersionRow,
    now_at: Standing,
    served: IndexRow | None,
    protocol: str | None,
    alias: str,
    demand: Demand,
) -> list[int]:
    fingerprints: set[str] = set()
    for row in (now_at.index, served):
        fingerprints |= set(row.fingerprints if row else ())
    if now_at.version is not None:
        fingerprints.add(now_at.version.fingerprint)
    if not fingerprints - {candidate.fingerprint}:
        return []
    if protocol is None:
        raise UsageError(
            f"{candidate.model}@{alias} has no protocol yet; name one with "
            "--protocol FILE."
        )
    reasons, evidence_ids = judge(session, candidate, fingerprints, protocol, demand)
    if not reasons and served is not None:
        # The evidence may be about another distance or other components than the
        # index compares, and a search along it would be refused.
        reasons = [
            f"the index {served.model}#{served.number} has {phrase}"
            for phrase in stranded(
                session,
                candidate.fingerprint,
                served.fingerprints,
                Terms(served.distance, served.first_components),
            )
        ]
    if reasons:
        raise GateRefusedError(
            f"{candidate.model}/{candidate.number} is not promoted to {alias}; "
            "nothing was changed:",
            reasons,
        )
    return evidence_ids


def _stands(
    now_at: Standing, version: VersionRow, index: IndexRow | None, protocol: str | None
) -> bool:
    return (
        now_at.version is not None
        and now_at.version.id == version.id
        and (now_at.index.id if now_at.index else None) == (index.id if index else None)
        and now_at.protocol == protocol
    )


def find_index(session: Session, model: str, number: int) -> IndexRow:
    """The row of an index.

    Raises:
        NotFoundError: There is none.
    """
    row = session.scalars(
        select(IndexRow).where(IndexRow.model == model, IndexRow.number == number)
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"There is no index {model}#{number}.")
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
        reason=reason,
        evidence_ids=list(evidence_ids),
        undoes=undoes,
        moved_by=f"{getpass.getuser()}@{platform.node()}"[:200],
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


def serve_index(
    database: Database, model: str, alias: str, index: int, reason: str | None
) -> AliasMoveRow | None:
    """Serves another index with the version that the alias stands for.

    Returns:
        The new row of its history, None when that index is served already.

    Raises:
        GateRefusedError: The index has vectors that the version has no edge to.
    """
    with database.writing() as session:
        now_at = standing(session, model, alias)
        if now_at.version is None:
            raise NotFoundError(f"There is no alias {model}@{alias}.")
        row = find_index(session, model, index)
        if now_at.index is not None and now_at.index.id == row.id:
            return None
        phrases = stranded(
            session,
            now_at.version.fingerprint,
            row.fingerprints,
            Terms(row.distance, row.first_components),
        )
        if phrases:
            raise GateRefusedError(
                f"{model}#{index} is not served by {model}@{alias}; nothing was "
                "changed:",
                [f"it has {phrase}" for phrase in phrases],
            )
        return move(
            session,
            model,
            alias,
            "index",
            now_at,
            version_id=now_at.version.id,
            index_id=row.id,
            protocol=now_at.protocol,
            reason=reason,
        )


def version_before(database: Database, model: str, alias: str) -> VersionRow:
    """The version that a rollback would go back to.

    Raises:
        NotFoundError: There is no such alias.
        RegistryError: There is nothing to go back to.
    """
    with database.reading() as session:
        last = _to_undo(session, model, alias, standing(session, model, alias))
        return session.get_one(VersionRow, last.from_version_id)


def rollback(
    database: Database,
    model: str,
    alias: str,
    *,
    verified: int,
    galleries: Path | None,
    reason: str | None,
    force: bool,
) -> AliasMoveRow | None:
    """Undoes the last move of an alias that has not been undone yet.

    Version, served index and protocol go back together.

    Args:
        database: Where aliases are kept.
        model: Name of the model.
        alias: The alias.
        verified: Key of the version before, whose files have been verified.
        galleries: Folder of the registry's galleries.
        reason: What the history is to say.
        force: Go back even over vectors that the earlier version cannot search.

    Returns:
        The new row of its history, None when the alias has moved meanwhile and would
        go back to a version that has not been verified.

    Raises:
        GateRefusedError: Vectors were added since that the earlier version has no
            edge to; they would not be found, or found wrongly.
        RegistryError: There is nothing to go back to.
    """
    with database.writing() as session:
        now_at = standing(session, model, alias)
        last = _to_undo(session, model, alias, now_at)
        before = session.get_one(VersionRow, last.from_version_id)
        if before.id != verified:
            return None
        index = (
            session.get_one(IndexRow, last.from_index_id)
            if last.from_index_id is not None
            else None
        )
        reasons = _left_behind(session, before, now_at.index, index, galleries)
        if reasons and not force:
            raise GateRefusedError(
                f"{model}@{alias} is not rolled back to {model}/{before.number}; "
                "nothing was changed:",
                reasons,
            )
        return move(
            session,
            model,
            alias,
            "rollback",
            now_at,
            version_id=before.id,
            index_id=last.from_index_id,
            protocol=last.from_protocol,
            reason=reason,
            undoes=last.id,
        )


def _to_undo(
    session: Session, model: str, alias: str, now_at: Standing
) -> AliasMoveRow:
    """The last move that has not been undone."""
    if now_at.version is None:
        raise NotFoundError(f"There is no alias {model}@{alias}.")
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


def _left_behind(
    session: Session,
    version: VersionRow,
    served: IndexRow | None,
    restored: IndexRow | None,
    galleries: Path | None,
) -> list[str]:
    """Sentences on vectors added since that `version` may not search."""
    places: dict[str, Mapping[str, int]] = {}
    if served is not None:
        places[f"the served index {served.model}#{served.number}"] = served.fingerprints
    names = {row.gallery for row in (served, restored) if row is not None}
    if not names:
        query = select(GalleryRow.name).where(GalleryRow.model == version.model)
        names = set(session.scalars(query))
    if names and galleries is not None:
        from registry.gallery import Gallery

        for name in sorted(names):
            places[f"the gallery {name}"] = Gallery.open(galleries / name).fingerprints
    # What the earlier index held was there before the move that is being undone.
    known = set(restored.fingerprints if restored else ())
    return [
        f"{where} has {phrase}"
        for where, vectors in places.items()
        for phrase in stranded(
            session,
            version.fingerprint,
            {made_by: n for made_by, n in vectors.items() if made_by not in known},
        )
    ]
