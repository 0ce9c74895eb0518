"""The gate of a promotion: what evidence says of a version and all it would search."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.aliases.compatibility import adapter_name, name_of, words_for
from registry.errors import UsageError
from registry.metadata.schema import EdgeRow, EvidenceRow, VersionRow

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


@dataclass(frozen=True)
class Needed:
    """Vectors of one older version that a promoted one has to work with.

    Attributes:
        made_by: Fingerprint of that version.
        adapter: The adapter that the served index holds them through, None for as they
            are stored.
        either_way: The served index holds none of them, so evidence of either kind
            counts.
    """

    made_by: str
    adapter: str | None = None
    either_way: bool = False


def judge(
    session: Session,
    candidate: VersionRow,
    needs: Sequence[Needed],
    protocol_path: str,
    demand: Demand,
) -> tuple[list[str], list[int]]:
    """Asks the gate about all vectors that `candidate` has to work with.

    Evidence counts when it is about both fingerprints and the way that the vectors are
    served in, and when the protocol and its data are what they were; of several the
    newest counts.

    Args:
        session: The registry's state.
        candidate: The version to promote.
        needs: The vectors, by the version that made them.
        protocol_path: Protocol file of the alias.
        demand: What to ask for beyond the protocol.

    Returns:
        What is in the way, one sentence each, and the evidence that was read.
    """
    from registry.evidence.protocol_data import ProtocolData, read_protocol

    protocol = read_protocol(protocol_path)
    _refuse_less(protocol, demand)
    data = ProtocolData(protocol, demand.galleries, demand.progress)
    digest = protocol.digest()
    reasons: list[str] = []
    evidence_ids: list[int] = []
    for needed in needs:
        if needed.made_by == candidate.fingerprint and needed.adapter is not None:
            reasons.append(
                f"{candidate.name} made vectors that the index holds through "
                f"{adapter_name(session, needed.adapter)}, and searches its own only "
                f"as they are stored: build an index of them (`{demand.command} index "
                "GALLERY`) and promote with --index"
            )
            continue
        rows = session.scalars(
            select(EvidenceRow)
            .where(
                EvidenceRow.new_fingerprint == candidate.fingerprint,
                EvidenceRow.old_fingerprint == needed.made_by,
            )
            .order_by(EvidenceRow.id.desc())
        ).all()
        data_digest = data.digest(needed.made_by)
        ways = (
            list(dict.fromkeys(row.adapter_fingerprint for row in rows)) or [None]
            if needed.either_way
            else [needed.adapter]
        )
        answers = [
            _ask(
                session,
                candidate,
                Needed(needed.made_by, way),
                [row for row in rows if row.adapter_fingerprint == way],
                protocol,
                (digest, data_digest),
                (protocol_path, demand),
            )
            for way in ways
        ]
        # One way that passes is enough; else what is said of the newest.
        against, read = min(answers, key=lambda answer: bool(answer[0]))
        if against and not needed.either_way:
            against += _other_ways(session, candidate, needed, demand.command)
        reasons += against
        evidence_ids += read
    return reasons, evidence_ids


def _other_ways(
    session: Session, candidate: VersionRow, needed: Needed, command: str
) -> list[str]:
    """What else is proven of these vectors, where the index holds them otherwise."""
    ways = set(
        session.scalars(
            select(EdgeRow.adapter_fingerprint).where(
                EdgeRow.new_fingerprint == candidate.fingerprint,
                EdgeRow.old_fingerprint == needed.made_by,
            )
        )
    ) - {needed.adapter}
    if not ways:
        return []
    return [
        f"{candidate.name} is proven for {name_of(session, needed.made_by)} only by "
        f"{words_for(session, ways, command)}: build such an index and promote with "
        "--index"
    ]


def _ask(
    session: Session,
    candidate: VersionRow,
    needed: Needed,
    rows: Sequence[EvidenceRow],
    protocol: Protocol,
    digests: tuple[str, str],
    terms: tuple[str, Demand],
) -> tuple[list[str], list[int]]:
    """What the newest fitting evidence of one way says."""
    old_name = name_of(session, needed.made_by)
    about = f"{candidate.name} against {old_name}"
    through = []
    if needed.adapter is not None:
        through = ["--through", adapter_name(session, needed.adapter)]
        about += f" through {through[1]}"
    fit = [row for row in rows if (row.protocol_digest, row.data_digest) == digests]
    if fit:
        return [
            f"{about} (evidence {fit[0].id}): {reason}"
            for reason in _decide(fit[0], protocol, terms[1])
        ], [fit[0].id]
    command = [terms[1].command, "evaluate", candidate.name, "--against", old_name]
    command += [*through, "--protocol", shlex.quote(terms[0])]
    return [
        f"{about}: {_why_missing(rows, protocol, digests[0])}; measure it with\n"
        f"      {' '.join(command)}"
    ], []


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
