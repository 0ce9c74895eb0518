"""Moving an alias: through the gate, past it with a reason, or to another index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from registry.aliases.alias import Action
from registry.aliases.compatibility import name_of, stranded_in, vectors_of
from registry.aliases.gate import Demand, Needed, judge
from registry.aliases.moves import (
    ATTEMPTS,
    Standing,
    find_index,
    move,
    no_alias,
    standing,
)
from registry.aliases.removed_rows import brought_back
from registry.errors import GateRefusedError, RegistryError, UsageError
from registry.metadata.database import Database
from registry.metadata.schema import AliasMoveRow, EvidenceRow, IndexRow, VersionRow
from registry.versions.registration import find


def check_terms(
    require_compatible: bool,
    force: bool,
    reason: str | None,
    confidence: float | None,
    min_gain: float | None,
) -> None:
    """Raises when what a promotion is asked for contradicts itself or cannot be.

    Args:
        require_compatible: Ask the gate.
        force: Do not.
        reason: What the history is to say.
        confidence: What to ask for beyond the protocol.
        min_gain: The same.

    Raises:
        UsageError: It says what to ask for.
    """
    if require_compatible == force:
        raise UsageError(
            "A promotion takes either `require_compatible` (--require-compatible), or "
            "`force` with a `reason` (--force --reason TEXT); not both."
            if force
            else "A promotion needs `require_compatible` (--require-compatible), which "
            "asks the gate; or `force` with a `reason` (--force --reason TEXT), which "
            "does not and is recorded so."
        )
    if force and not (reason and reason.strip()):
        raise UsageError("`force` needs a `reason` (--reason TEXT).")
    if force and (confidence is not None or min_gain is not None):
        raise UsageError(
            "`confidence` and `min_gain` are asked of the gate, which `force` leaves "
            "out."
        )
    if confidence is not None and not 0 < confidence < 1:
        raise UsageError(
            f"`confidence` should lie between 0 and 1. Received: {confidence}."
        )
    if min_gain is not None and not math.isfinite(min_gain):
        raise UsageError(f"`min_gain` should be finite. Received: {min_gain}.")


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
    verify: Callable[[IndexRow], None],
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
        verify: Raises when files of the index that will be served are damaged.
        reason: What the history is to say.

    Returns:
        The new row of its history, None when it stands there already.

    Raises:
        GateRefusedError: The gate does not pass. Nothing has changed.
    """
    verified = set()
    for _ in range(ATTEMPTS):
        with database.reading() as session:
            candidate = find(session, model, number)
            newest = _newest_evidence(session, candidate)
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
            digest = now_at.protocol_digest
            if path is not None and (protocol is not None or evidence_ids):
                from registry.evidence.protocol_data import read_protocol

                digest = read_protocol(path).digest()
        # It takes minutes where the index is large: after the gate, in no session,
        # and anew only where an index that is kept has become another one.
        if served is not None and served.id not in verified:
            verify(served)
            verified.add(served.id)
        action: Action = "bootstrap" if now_at.version is None else "promote"
        if not require_compatible:
            action = "force"
        with database.writing() as session:
            # The gate took its time; it judged where the alias stood then, by the
            # evidence that there was.
            if standing(session, model, alias).move_id != now_at.move_id:
                continue
            if _newest_evidence(session, candidate) != newest:
                continue
            # Raises where one of them was deleted meanwhile.
            find(session, model, number)
            if served is not None and served is not now_at.index:
                find_index(session, model, served.number)
            return move(
                session,
                model,
                alias,
                action,
                now_at,
                version_id=candidate.id,
                index_id=None if served is None else served.id,
                protocol=path,
                protocol_digest=digest,
                reason=reason,
                evidence_ids=evidence_ids,
            )
    raise RegistryError(
        f"{model}@{alias} was moved or {model}/{number} measured by others {ATTEMPTS} "
        "times while it was being judged. Nothing was changed; promote again."
    )


def _newest_evidence(session: Session, candidate: VersionRow) -> int | None:
    return session.scalar(
        select(func.max(EvidenceRow.id)).where(
            EvidenceRow.new_fingerprint == candidate.fingerprint
        )
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
    reasons: list[str] = []
    evidence_ids: list[int] = []
    stored = {} if served is None else _stored_since(served, demand.galleries)
    if needs := _needs(candidate, now_at, served, stored):
        if protocol is None:
            raise UsageError(
                f"{candidate.model}@{alias} has no protocol yet; name one with "
                "--protocol FILE."
            )
        reasons, evidence_ids = judge(session, candidate, needs, protocol, demand)
        if reasons:
            reasons[-1] += _way_out(
                session, candidate, now_at, served, stored, demand.command
            )
    if not reasons and served is not None:
        # The evidence may be about another distance or other components than the
        # index compares, and a search along it would be refused.
        reasons = [
            f"the index {served.model}#{served.number} has {phrase}"
            for phrase in stranded_in(
                session, candidate.fingerprint, served, command=demand.command
            )
        ]
    reasons += brought_back(
        session, served, now_at.index, demand.galleries, demand.command
    )
    if reasons:
        raise GateRefusedError(
            f"{candidate.model}/{candidate.number} is not promoted to {alias}; "
            "nothing was changed:",
            reasons,
        )
    return evidence_ids


def _needs(
    candidate: VersionRow,
    now_at: Standing,
    served: IndexRow | None,
    stored: Mapping[str, int],
) -> list[Needed]:
    """What the gate is asked about: what is searched from then on.

    Those are the vectors of the index that will be served, in the way that it holds
    them, and those that its gallery has got since, which the next index may hold in
    either way. Where no index says what is searched, those of the alias's version are,
    as they are stored.
    """
    needs = {}
    for held in vectors_of(served) if served else ():
        if held.made_by != candidate.fingerprint or held.adapter is not None:
            needs[held.made_by] = Needed(held.made_by, held.adapter)
    others = set(stored)
    if served is None and now_at.version is not None:
        others.add(now_at.version.fingerprint)
    for made_by in others - {candidate.fingerprint}:
        needs.setdefault(made_by, Needed(made_by, either_way=served is not None))
    return [needs[made_by] for made_by in sorted(needs)]


def _stored_since(served: IndexRow, galleries: Path | None) -> dict[str, int]:
    """Rows of an index's gallery by version, where the index holds none of its."""
    from registry.galleries.gallery import Gallery

    if galleries is None:
        return {}
    try:
        held = Gallery.open(galleries / served.gallery).fingerprints
    except RegistryError:
        # A lost gallery has none; whether the index may be served is asked elsewhere.
        return {}
    return {
        name: rows for name, rows in held.items() if name not in served.fingerprints
    }


def _way_out(
    session: Session,
    candidate: VersionRow,
    now_at: Standing,
    served: IndexRow | None,
    stored: Mapping[str, int],
    command: str,
) -> str:
    """How to go on where what is missing may be impossible to prove."""
    if served is not None:
        rows = " and ".join(
            f"{count:,} of {name_of(session, made_by)}"
            for made_by, count in sorted(stored.items())
            if made_by != candidate.fingerprint
        )
        return rows and (
            f"\n    The index {served.model}#{served.number} does not hold {rows}, "
            f"which the gallery {served.gallery} has got since and the next index "
            "will hold. Where that proof cannot be had, remove these rows (`"
            f"{command} gallery {served.gallery} --remove-ids FILE`) and add their "
            f"pictures again by {candidate.name} once it is promoted"
        )
    assert now_at.version is not None, "without it nothing is asked for"
    return (
        f"\n    No index is served, so the vectors that {now_at.version.name} stored "
        "are taken for what is searched. Where it stored none, say what is: build an "
        f"index (`{command} index GALLERY`) and promote with --index; or roll back "
        f"first to the version that did (`{command} rollback "
        f"{candidate.model}@ALIAS --to VERSION`)"
    )


def _stands(
    now_at: Standing, version: VersionRow, index: IndexRow | None, protocol: str | None
) -> bool:
    return (
        now_at.version is not None
        and now_at.version.id == version.id
        and (now_at.index.id if now_at.index else None) == (index.id if index else None)
        and now_at.protocol == protocol
    )


def serve_index(
    database: Database,
    model: str,
    alias: str,
    index: int,
    reason: str | None,
    *,
    verify: Callable[[IndexRow], None],
    galleries: Path | None,
    command: str,
) -> AliasMoveRow | None:
    """Serves another index with the version that the alias stands for.

    Args:
        database: Where aliases are kept.
        model: Name of the model.
        alias: The alias.
        index: Number of the index.
        reason: What the history is to say.
        verify: Raises when files of the index are damaged.
        galleries: Folder of the registry's galleries.
        command: How the command line of this registry begins.

    Returns:
        The new row of its history, None when that index is served already.

    Raises:
        GateRefusedError: The index has vectors that the version has no edge to, or rows
            that were removed from its gallery.
    """

    def may_serve(session: Session) -> tuple[Standing, VersionRow, IndexRow] | None:
        now_at = standing(session, model, alias)
        if now_at.version is None:
            raise no_alias(session, model, alias)
        row = find_index(session, model, index)
        if row is now_at.index:
            return None
        phrases = stranded_in(session, now_at.version.fingerprint, row, command=command)
        reasons = [f"it has {phrase}" for phrase in phrases]
        reasons += brought_back(session, row, now_at.index, galleries, command)
        if reasons:
            raise GateRefusedError(
                f"{model}#{index} is not served by {model}@{alias}; nothing was "
                "changed:",
                reasons,
            )
        return now_at, now_at.version, row

    with database.reading() as session:
        found = may_serve(session)
    if found is None:
        return None
    # It takes minutes where the index is large: asked before, and again after.
    verify(found[2])
    with database.writing() as session:
        found = may_serve(session)
        if found is None:
            return None
        now_at, version, row = found
        return move(
            session,
            model,
            alias,
            "index",
            now_at,
            version_id=version.id,
            index_id=row.id,
            protocol=now_at.protocol,
            protocol_digest=now_at.protocol_digest,
            reason=reason,
        )
