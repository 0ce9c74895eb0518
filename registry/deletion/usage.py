"""What of the registry is in use, and by what: it is not deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from registry.aliases.rollback import live_moves
from registry.errors import RegistryError
from registry.metadata.schema import (
    AdapterRow,
    AliasMoveRow,
    AliasRow,
    EvidenceRow,
    GalleryRow,
    IndexRow,
    VersionRow,
)

if TYPE_CHECKING:
    from keras_bct.evaluation import Protocol


@dataclass(frozen=True)
class Usage:
    """What uses something, one sentence each.

    Attributes:
        by: What has to go, or to move elsewhere, before it can be deleted.
        evidence: The evidence that was measured with it, by number.
        kept: The evidence among it that let an alias move: history names it.
    """

    by: tuple[str, ...]
    evidence: tuple[int, ...]
    kept: tuple[int, ...]

    def refusals(self, *, with_evidence: bool) -> list[str]:
        """Why it is not deleted; nothing where it may be.

        Args:
            with_evidence: The evidence goes with it, where no history names it.
        """
        reasons = list(self.by)
        if self.kept:
            reasons.append(
                f"evidence {_listed(self.kept)} was measured with it and let an alias "
                "move, which history keeps"
            )
        others = [number for number in self.evidence if number not in self.kept]
        if others and not with_evidence:
            reasons.append(
                f"evidence {_listed(others)} was measured with it; delete it, too, by "
                "--with-evidence"
            )
        return reasons


def usage_of_version(
    session: Session, version: VersionRow, galleries: Path | None
) -> Usage:
    """What uses a version.

    Args:
        session: The registry's state.
        version: The version.
        galleries: Folder of the registry's galleries, None on a remote root.
    """
    by = []
    for alias in session.scalars(select(AliasRow)):
        name = f"{alias.model}@{alias.name}"
        if alias.version_id == version.id:
            by.append(f"the alias {name} stands at it")
        elif version.id in _ways_back(session, alias)[0]:
            by.append(f"a rollback of {name} goes back to it")
    after = session.scalars(
        select(VersionRow).where(
            VersionRow.predecessor_id == version.id, VersionRow.state != "deleted"
        )
    )
    by += [f"it is the predecessor of {row.name}" for row in after]
    twin = select(VersionRow.id).where(
        VersionRow.fingerprint == version.fingerprint,
        VersionRow.state == "registered",
        VersionRow.id != version.id,
    )
    if session.scalars(twin).first() is not None:
        # What is tied to its fingerprint is the other one's, too.
        return Usage(tuple(by), (), ())
    made = version.fingerprint
    by += _in_galleries(session, made, galleries)
    for index in _indices(session):
        if made in index.fingerprints:
            by.append(
                f"the index {index.model}#{index.number} holds "
                f"{index.fingerprints[made]:,} of its vectors"
            )
    adapters = session.scalars(
        select(AdapterRow).where(
            or_(AdapterRow.old_fingerprint == made, AdapterRow.new_fingerprint == made),
            AdapterRow.state != "deleted",
        )
    )
    by += [f"the adapter {row.name} maps from or to it" for row in adapters]
    return _with_evidence(
        session,
        by,
        or_(
            EvidenceRow.new_fingerprint == made,
            EvidenceRow.old_fingerprint == made,
            EvidenceRow.paragon_fingerprint == made,
        ),
    )


def usage_of_adapter(session: Session, adapter: AdapterRow) -> Usage:
    """What uses an adapter: indices of rows that went through it, and evidence."""
    by = [
        f"rows of the index {index.model}#{index.number} went through it"
        for index in _indices(session)
        if adapter.fingerprint in index.adapters.values()
    ]
    return _with_evidence(
        session, by, EvidenceRow.adapter_fingerprint == adapter.fingerprint
    )


def usage_of_index(session: Session, index: IndexRow) -> Usage:
    """What uses an index: the aliases that serve it, or would after a rollback."""
    by = []
    for alias in session.scalars(select(AliasRow)):
        name = f"{alias.model}@{alias.name}"
        if alias.index_id == index.id:
            by.append(f"the alias {name} serves it")
        elif index.id in _ways_back(session, alias)[1]:
            by.append(f"a rollback of {name} serves it again")
    return Usage(tuple(by), (), ())


def usage_of_gallery(session: Session, gallery: GalleryRow) -> Usage:
    """What uses a gallery: indices of its rows, and protocols that measure on it."""
    by = [
        f"the index {index.model}#{index.number} is of its rows"
        for index in _indices(session)
        if index.gallery == gallery.name
    ]
    for alias in session.scalars(select(AliasRow)):
        if alias.protocol is not None and gallery.name in _named(alias.protocol):
            by.append(
                f"the protocol of {alias.model}@{alias.name} measures on it "
                f"({alias.protocol})"
            )
    files = session.scalars(select(EvidenceRow.protocol).distinct()).all()
    naming = [path for path in files if gallery.name in _named(path)]
    return _with_evidence(session, by, EvidenceRow.protocol.in_(naming))


def _ways_back(session: Session, alias: AliasRow) -> tuple[set[int], set[int]]:
    """The versions and indices that a rollback of an alias may lead to.

    They are those of before its last move, and of before it left the version before.
    """
    moves = live_moves(session, alias.model, alias.name)
    left = [
        row for row in moves if row.from_version_id not in (None, row.to_version_id)
    ]
    ends = [*moves[:1], *left[:1]]
    return (
        {row.from_version_id for row in ends if row.from_version_id is not None},
        {row.from_index_id for row in ends if row.from_index_id is not None},
    )


def _indices(session: Session) -> Iterator[IndexRow]:
    yield from session.scalars(select(IndexRow).where(IndexRow.state == "registered"))


def _in_galleries(
    session: Session, fingerprint: str, galleries: Path | None
) -> Iterator[str]:
    from registry.galleries.gallery import Gallery

    if galleries is None:
        return
    names = select(GalleryRow.name).where(GalleryRow.state == "registered")
    for name in session.scalars(names):
        try:
            rows = Gallery.open(galleries / name).fingerprints.get(fingerprint, 0)
        except RegistryError as error:
            yield (
                f"nobody knows whether the gallery {name} has vectors of it: {error} "
                "Put the gallery back from a copy, or delete it"
            )
        else:
            if rows:
                yield f"the gallery {name} has {rows:,} of its vectors"


def _with_evidence(
    session: Session, by: list[str], where: ColumnElement[bool]
) -> Usage:
    numbers = session.scalars(
        select(EvidenceRow.id).where(where).order_by(EvidenceRow.id)
    ).all()
    read = {
        number
        for ids in session.scalars(select(AliasMoveRow.evidence_ids))
        for number in ids
    }
    kept = tuple(number for number in numbers if number in read)
    return Usage(tuple(by), tuple(numbers), kept)


def _named(protocol_path: str) -> set[str]:
    """The galleries that a protocol file names as it is now; none where it is gone."""
    from registry.evidence.protocol_data import read_protocol

    try:
        protocol: Protocol = read_protocol(protocol_path)
    except RegistryError:
        return set()
    sides = protocol.queries, protocol.gallery
    return {side.path for side in sides if side.source == "gallery"}


def _listed(numbers: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, numbers))
