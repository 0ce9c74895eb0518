"""Aliases: where they stand, and moving them."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.adapters.store import AdapterStore
from registry.aliases import promotion, rollback
from registry.aliases.alias import Alias, AliasMove
from registry.aliases.gate import Demand
from registry.aliases.moves import ATTEMPTS
from registry.aliases.rollback import RollbackPlan
from registry.errors import IntegrityError, RegistryError, UsageError
from registry.indices.manifest import verify_index
from registry.indices.search_index import SearchIndex
from registry.metadata.schema import AliasMoveRow, AliasRow, IndexRow, VersionRow
from registry.names import INDICES, check_name, parse_alias, parse_index, parse_version
from registry.versions.store import alias_row


class AliasStore(AdapterStore):
    """The aliases of a registry, with the indices that they serve."""

    def aliases(self, model: str | None = None) -> list[Alias]:
        """All aliases, or those of one model, by model and name."""
        query = select(AliasRow)
        if model is not None:
            query = query.where(AliasRow.model == check_name(model))
        with self.database.reading() as session:
            rows = session.scalars(query.order_by(AliasRow.model, AliasRow.name))
            return [self._alias(row) for row in rows]

    def alias(self, name: str) -> Alias:
        """Where an alias such as `"glyphs@production"` stands.

        Raises:
            NotFoundError: There is none.
        """
        with self.database.reading() as session:
            return self._alias(alias_row(session, name))

    def history(self, name: str) -> list[AliasMove]:
        """All moves of an alias such as `"glyphs@production"`, oldest first."""
        model, alias = parse_alias(name)
        with self.database.reading() as session:
            rows = session.scalars(
                select(AliasMoveRow)
                .where(AliasMoveRow.model == model, AliasMoveRow.alias == alias)
                .order_by(AliasMoveRow.id)
            ).all()
            return [self._move(session, row) for row in rows]

    def _alias(self, row: AliasRow) -> Alias:
        return Alias(
            model=row.model,
            name=row.name,
            version=self._version(row.version),
            index=None if row.index is None else self._index(row.index),
            protocol=row.protocol,
        )

    def _move(self, session: Session, row: AliasMoveRow) -> AliasMove:
        def version(key: int | None) -> str | None:
            found = None if key is None else session.get_one(VersionRow, key)
            return None if found is None else f"{found.model}/{found.number}"

        def index(key: int | None) -> str | None:
            found = None if key is None else session.get_one(IndexRow, key)
            return None if found is None else f"{found.model}#{found.number}"

        return AliasMove(
            id=row.id,
            model=row.model,
            alias=row.alias,
            action=row.action,
            from_version=version(row.from_version_id),
            to_version=version(row.to_version_id) or "",
            from_index=index(row.from_index_id),
            to_index=index(row.to_index_id),
            protocol=row.to_protocol,
            protocol_digest=row.to_protocol_digest,
            from_protocol=row.from_protocol,
            from_protocol_digest=row.from_protocol_digest,
            reason=row.reason,
            evidence_ids=tuple(row.evidence_ids),
            undoes=row.undoes,
            moved_by=row.moved_by,
            created=row.created,
        )

    def promote(
        self,
        version: str,
        alias: str,
        *,
        require_compatible: bool = False,
        protocol: str | os.PathLike[str] | None = None,
        confidence: float | None = None,
        min_gain: float | None = None,
        index: str | None = None,
        force: bool = False,
        reason: str | None = None,
    ) -> AliasMove | None:
        """Moves an alias to a version, if the gate lets it.

        For the alias's protocol the gate has to pass against what is searched from
        then on: every fingerprint in the index that will be served, and those that its
        gallery has got since; without an index, against the alias's current version.

        Args:
            version: Such as `"glyphs/3"`.
            alias: Such as `"production"`; made when it is new.
            require_compatible: Ask the gate. Without it, `force` and `reason`.
            protocol: Protocol file, for a new alias or in place of its own.
            confidence: More than the protocol's own.
            min_gain: More than the protocol's own; needs evidence with a paragon.
            index: An index to serve from now on, such as `"glyphs#2"`.
            force: Do not ask the gate; recorded so.
            reason: What the history is to say.

        Returns:
            The move, None when the alias stands there already.

        Raises:
            GateRefusedError: The gate does not pass. Nothing has changed.
            IntegrityError: Files of the version, of the index that will be served or of
                an adapter that its rows went through are not what they were.
        """
        model, number = parse_version(version)
        check_name(alias, "alias")
        promotion.check_terms(require_compatible, force, reason, confidence, min_gain)
        found = self.version(version)
        if protocol is not None:
            from registry.evidence.protocol_data import read_protocol

            read_protocol(protocol)
            protocol = str(Path(protocol).absolute())
        self._verify(found)
        with self._progress("checking data", None) as progress:
            row = promotion.promote(
                self.database,
                model,
                number,
                alias,
                demand=Demand(
                    confidence=confidence,
                    min_gain=min_gain,
                    galleries=self.galleries_folder,
                    command=self.command,
                    progress=progress,
                ),
                require_compatible=require_compatible,
                protocol=protocol,
                index=None if index is None else _number_of(index, model),
                verify=self._verify_index,
                reason=reason,
            )
        return None if row is None else self._read_move(row)

    def _read_move(self, row: AliasMoveRow) -> AliasMove:
        with self.database.reading() as session:
            return self._move(session, row)

    def serve_index(
        self, alias: str, index: str, *, reason: str | None = None
    ) -> AliasMove | None:
        """Serves another index with the version that an alias stands for.

        Args:
            alias: Such as `"glyphs@production"`.
            index: Such as `"glyphs#2"`.
            reason: What the history is to say.

        Returns:
            The move, None when that index is served already.

        Raises:
            GateRefusedError: It has vectors that the version has no edge to, or rows
                that were removed from its gallery since.
            IntegrityError: Files of the index or of an adapter that its rows went
                through are not what they were.
        """
        model, name = parse_alias(alias)
        row = promotion.serve_index(
            self.database,
            model,
            name,
            _number_of(index, model),
            reason,
            verify=self._verify_index,
            galleries=self.galleries_folder,
            command=self.command,
        )
        return None if row is None else self._read_move(row)

    def plan_rollback(
        self, alias: str, *, to: str | None = None, index: str | None = None
    ) -> RollbackPlan:
        """Says what `rollback` would do, and what speaks against it.

        Args:
            alias: Such as `"glyphs@production"`.
            to: The version to go back to, such as `"glyphs/1"`; the last move is undone
                by default.
            index: An index to serve in place of the earlier one, such as `"glyphs#4"`.

        Raises:
            NotFoundError: There is no such alias, or it has not stood at that version.
            RegistryError: There is nothing to go back to.
        """
        return self._step_back(alias, to, index).plan

    def _step_back(
        self, alias: str, to: str | None, index: str | None
    ) -> rollback.Step:
        model, name = parse_alias(alias)
        if to is not None and parse_version(to)[0] != model:
            raise UsageError(
                f"Expected a version of {model}, such as '{model}/1'. Received: {to!r}."
            )
        with self.database.reading() as session:
            return rollback.plan_rollback(
                session,
                model,
                name,
                to=to,
                index=None if index is None else _number_of(index, model),
                galleries=self.galleries_folder,
                command=self.command,
            )

    def rollback(
        self,
        alias: str,
        *,
        to: str | None = None,
        index: str | None = None,
        force: bool = False,
        reason: str | None = None,
    ) -> AliasMove:
        """Rolls an alias back: version, index and protocol together.

        Args:
            alias: Such as `"glyphs@production"`.
            to: The version to go back to, such as `"glyphs/1"`: all moves are undone
                since the alias left it. The last move is by default, which may have
                been that of an index alone.
            index: An index to serve in place of the earlier one, such as `"glyphs#4"`:
                one that was built since rows were removed.
            force: Go back even over vectors that the earlier version cannot search, and
                to an index with rows that were removed.
            reason: What the history is to say; needed with `force`.

        Raises:
            GateRefusedError: Vectors were added since that the earlier version has
                no edge to, or rows were removed that the index still has.
            IntegrityError: Files of the earlier version, or of an index that is not
                served already, or of an adapter that its rows went through, are not
                what they were.
        """
        model, name = parse_alias(alias)
        if force and not (reason and reason.strip()):
            raise UsageError("`force` needs a `reason` (--reason TEXT).")
        for _ in range(ATTEMPTS):
            step = self._step_back(alias, to, index)
            self._verify(self._version(step.version))
            if step.to_serve is not None and not step.is_served:
                self._verify_index(step.to_serve)
            row = rollback.rollback(
                self.database,
                model,
                name,
                to=to,
                index=None if index is None else _number_of(index, model),
                verified=step,
                galleries=self.galleries_folder,
                reason=reason,
                force=force,
                command=self.command,
            )
            if row is not None:
                return self._read_move(row)
        raise RegistryError(
            f"{alias} was moved by others {ATTEMPTS} times meanwhile. "
            "Nothing was changed; roll back again."
        )

    def _verify_index(self, row: IndexRow) -> None:
        """Raises when files of an index, or of its adapters, are not what they were.

        Raises:
            IntegrityError: It names them.
        """
        index = self._index(row)
        with self._progress(f"verifying {index}", None) as progress:
            bad = verify_index(Path(index.location), index.manifest_sha256, progress)
        if bad:
            raise IntegrityError(
                f"The files of {index} are not those that were built; build another "
                f"with `{self.command} index {index.gallery}` and name that one by "
                "--index:",
                bad,
            )
        # The index that is published after it maps its rows by them, too.
        for fingerprint in sorted(set(index.adapters.values())):
            adapter = self.adapter_with(fingerprint)
            if adapter is None:
                raise IntegrityError(
                    f"Rows of {index} went through the adapter {fingerprint[:12]}, "
                    "which is not registered; build another index."
                )
            self._verify(adapter)

    def _index(self, row: IndexRow) -> SearchIndex:
        location = self.root.location(INDICES, row.model, str(row.number))
        return SearchIndex.from_row(row, location)


def _number_of(index: str, model: str) -> int:
    owner, number = parse_index(index)
    if owner != model:
        raise UsageError(
            f"Expected an index of {model}, such as '{model}#1'. Received: {index!r}."
        )
    return number
