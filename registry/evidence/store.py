"""Evidence and the compatibility edges that follow from it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, replace

from sqlalchemy import ColumnElement, select

from keras_bct.counted import counted
from registry.adapters.adapter import Adapter
from registry.aliases.store import AliasStore
from registry.errors import NotFoundError, UsageError
from registry.evidence.edge import Edge, EdgeKind
from registry.evidence.evidence import Evidence, check_evidence
from registry.evidence.measuring import measure_evidence
from registry.metadata.schema import EdgeRow, EvidenceMetricRow, EvidenceRow
from registry.versions.version import Version


class EvidenceStore(AliasStore):
    """The evidence and edges of a registry."""

    def evaluate(
        self,
        new: str,
        against: str,
        protocol_path: str | os.PathLike[str],
        paragon: str | None = None,
        *,
        through: str | None = None,
    ) -> Evidence:
        """Measures and stores the evidence of one version against another.

        With an adapter h the stored vectors go through it first: M(new, h(old)) is
        compared with M(old, old).

        Args:
            new: The version that embeds the queries, such as `"glyphs/3"`.
            against: The version that made the gallery.
            protocol_path: Protocol file.
            paragon: The version at the top of the gain; without it the gain is None.
            through: The adapter that the gallery's vectors go through, such as
                `"glyphs:1"`.

        Returns:
            The stored evidence. A compatibility edge is written when its protocol's
            gate passes.

        Raises:
            IntegrityError: Files of a version or of the adapter are not those that
                were registered.
        """
        self.database.refuse_read_only()
        adapter = None if through is None else self.adapter(through)
        names = [new, against, *([] if paragon is None else [paragon])]
        versions = [self.resolve(name) for name in names]
        with contextlib.ExitStack() as stack:
            folders = []
            for version in versions:
                self._verify(version)
                folders.append(stack.enter_context(self.local_version(version)))
            adapter_folder = None
            if adapter is not None:
                self._verify(adapter)
                adapter_folder = stack.enter_context(self.local_adapter(adapter))
            evidence = measure_evidence(
                folders[0],
                folders[1],
                protocol_path,
                None if paragon is None else folders[2],
                adapter_dir=adapter_folder,
                galleries=self.galleries_folder,
            )
        return self.add_evidence(evidence)

    def add_evidence(self, evidence: Evidence) -> Evidence:
        """Stores evidence; writes a compatibility edge when its gate passed.

        Newer evidence replaces an edge of the same pair, adapter and protocol, and
        takes it away when the gate no longer passes.

        Returns:
            The evidence with its number.

        Raises:
            UsageError: Its parts contradict each other, it compares more components
                than its versions have, or its adapter is not registered, maps from new
                to old or takes side information.
        """
        check_evidence(evidence)
        self._check_components(evidence, self._check_adapter(evidence))
        with self.database.writing() as session:
            row = EvidenceRow(
                **{
                    name: getattr(evidence, name)
                    for name in (
                        "new_fingerprint",
                        "old_fingerprint",
                        "adapter_fingerprint",
                        "paragon_fingerprint",
                        "protocol",
                        "protocol_name",
                        "protocol_digest",
                        "data_digest",
                        "distance",
                        "first_components",
                        "answer",
                        "seed",
                        "comparison",
                    )
                },
                reasons=list(evidence.reasons),
                metrics=[
                    EvidenceMetricRow(position=position, **asdict(metric))
                    for position, metric in enumerate(evidence.metrics)
                ],
            )
            session.add(row)
            session.flush()
            edge = session.scalars(
                select(EdgeRow).where(
                    EdgeRow.new_fingerprint == evidence.new_fingerprint,
                    EdgeRow.old_fingerprint == evidence.old_fingerprint,
                    # SQLAlchemy says IS NULL for None.
                    EdgeRow.adapter_fingerprint == evidence.adapter_fingerprint,
                    EdgeRow.protocol_digest == evidence.protocol_digest,
                )
            ).one_or_none()
            if edge is not None:
                session.delete(edge)
                session.flush()
            if evidence.answer == "yes":
                through = evidence.adapter_fingerprint is not None
                kind: EdgeKind = "through adapter" if through else "direct"
                session.add(
                    EdgeRow(
                        new_fingerprint=evidence.new_fingerprint,
                        old_fingerprint=evidence.old_fingerprint,
                        kind=kind,
                        adapter_fingerprint=evidence.adapter_fingerprint,
                        distance=evidence.distance,
                        first_components=evidence.first_components,
                        protocol_digest=evidence.protocol_digest,
                        evidence_id=row.id,
                    )
                )
            return replace(evidence, id=row.id, created=row.created)

    def _check_adapter(self, evidence: Evidence) -> Adapter | None:
        if evidence.adapter_fingerprint is None:
            return None
        adapter = self.adapter_with(evidence.adapter_fingerprint)
        if adapter is None or adapter.old_fingerprint != evidence.old_fingerprint:
            raise UsageError(
                "`adapter_fingerprint` should be that of a registered adapter for "
                f"vectors of {evidence.old_fingerprint[:12]}. Received: "
                f"{evidence.adapter_fingerprint[:12]!r}; register it first with "
                f"{self.command} adapter add DIRECTORY"
            )
        if adapter.direction != "old-to-new":
            raise UsageError(
                "`adapter_fingerprint` should be that of an adapter from old to new, "
                f"as stored vectors go through. Received: {adapter.name}, which is "
                f"{adapter.direction}."
            )
        if adapter.side_size is not None:
            raise UsageError(
                "`adapter_fingerprint` should be that of an adapter that takes vectors "
                f"alone, as galleries store them. Received: {adapter.name}, which "
                f"takes side information of {counted(adapter.side_size, 'component')}."
            )
        return adapter

    def _check_components(self, evidence: Evidence, adapter: Adapter | None) -> None:
        """Of versions that are registered; evidence may come before."""
        prints = [evidence.new_fingerprint]
        if adapter is None:
            prints.append(evidence.old_fingerprint)
        versions = filter(None, map(self.version_with, prints))
        sizes = [version.embedding_size for version in versions]
        if adapter is not None:
            sizes.append(adapter.output_size)
        if sizes and evidence.first_components > min(sizes):
            raise UsageError(
                f"`first_components` should be at most {min(sizes)}, as many as both "
                f"sides have. Received: {evidence.first_components}."
            )

    def evidence(self, number: int) -> Evidence:
        """Evidence by its number.

        Raises:
            NotFoundError: There is none.
        """
        with self.database.reading() as session:
            row = session.get(EvidenceRow, number)
            if row is None:
                raise NotFoundError(f"There is no evidence {number}.")
            return Evidence.from_row(row)

    def evidence_of(self, version: Version) -> list[Evidence]:
        """All evidence in which this version embeds the queries, oldest first."""
        return self._evidence(EvidenceRow.new_fingerprint == version.fingerprint)

    def evidence_through(self, adapter: Adapter) -> list[Evidence]:
        """All evidence that was measured through this adapter, oldest first."""
        return self._evidence(EvidenceRow.adapter_fingerprint == adapter.fingerprint)

    def _evidence(self, where: ColumnElement[bool]) -> list[Evidence]:
        with self.database.reading() as session:
            rows = session.scalars(
                select(EvidenceRow).where(where).order_by(EvidenceRow.id)
            )
            return [Evidence.from_row(row) for row in rows]

    def edges(self) -> list[Edge]:
        """All compatibility edges, oldest first."""
        with self.database.reading() as session:
            rows = session.scalars(select(EdgeRow).order_by(EdgeRow.id))
            return [Edge.from_row(row) for row in rows]
