"""The gate of a promotion: what evidence says of a version and all it would search."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.compatibility import name_of
from registry.errors import UsageError
from registry.schema import EvidenceRow, VersionRow

if TYPE_CHECKING:
    from keras_bct.evaluation import Gate, Protocol
    from registry.fingerprint import Progress


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
