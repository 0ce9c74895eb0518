"""Deleting versions, adapters, indices, galleries and aliases.

What is in use is not deleted. The database says first that something is deleted, in
one transaction, and then its files go; who is killed in between leaves files of which
nobody is told any more, and which `collect_garbage` removes. Rows of the database stay,
since history and evidence name them, and no number is used twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete
from sqlalchemy.orm import Session

from registry.adapters.registration import find_adapter
from registry.aliases.moves import find_index, move, standing
from registry.deletion.usage import (
    Usage,
    usage_of_adapter,
    usage_of_gallery,
    usage_of_index,
    usage_of_version,
)
from registry.errors import GateRefusedError, UsageError
from registry.galleries.store import find_gallery, is_nobodys, no_gallery
from registry.metadata.schema import (
    AdapterRow,
    EdgeRow,
    EvidenceMetricRow,
    EvidenceRow,
    GalleryRow,
    IndexRow,
    VersionRow,
)
from registry.names import (
    GALLERIES,
    INDICES,
    check_gallery_name,
    parse_adapter,
    parse_alias,
    parse_index,
    parse_version,
)
from registry.serving.store import ServingStore
from registry.versions import registration
from registry.versions.store import alias_row

if TYPE_CHECKING:
    from registry.deletion.garbage import Garbage


@dataclass(frozen=True)
class Deletion:
    """What was deleted.

    Attributes:
        name: What commands called it.
        location: Where its files were, None for an alias.
        size: Bytes of them.
        evidence: The evidence that went with it, by number.
    """

    name: str
    location: str | None
    size: int
    evidence: tuple[int, ...] = ()


class DeletionStore(ServingStore):
    """What can be deleted from a registry."""

    def delete_version(
        self, name: str, *, with_evidence: bool = False, dry_run: bool = False
    ) -> Deletion:
        """Deletes a version that nothing uses.

        Args:
            name: Such as `"glyphs/3"`.
            with_evidence: Delete the evidence that was measured with it, too, and the
                edges that follow from it.
            dry_run: Only say what would go.

        Raises:
            NotFoundError: There is none.
            GateRefusedError: An alias stands at it or may go back to it, it is the
                predecessor of another version, a gallery or an index holds its vectors,
                an adapter maps from or to it, or there is evidence of it.
        """
        model, number = parse_version(name)

        def find(session: Session) -> tuple[VersionRow, Usage, tuple[str, ...]]:
            row = registration.find(session, model, number)
            usage = usage_of_version(session, row, self.galleries_folder)
            return row, usage, row.folder

        return self._delete(name, find, with_evidence, dry_run)

    def delete_adapter(
        self, name: str, *, with_evidence: bool = False, dry_run: bool = False
    ) -> Deletion:
        """Deletes an adapter that nothing uses.

        Args:
            name: Such as `"glyphs:1"`.
            with_evidence: Delete the evidence that was measured through it, too.
            dry_run: Only say what would go.

        Raises:
            NotFoundError: There is none.
            GateRefusedError: Rows of an index went through it, or there is evidence.
        """
        model, number = parse_adapter(name)

        def find(session: Session) -> tuple[AdapterRow, Usage, tuple[str, ...]]:
            row = find_adapter(session, model, number)
            return row, usage_of_adapter(session, row), row.folder

        return self._delete(name, find, with_evidence, dry_run)

    def delete_index(self, name: str, *, dry_run: bool = False) -> Deletion:
        """Deletes a search index that nothing uses.

        Args:
            name: Such as `"glyphs#2"`.
            dry_run: Only say what would go.

        Raises:
            NotFoundError: There is none.
            GateRefusedError: An alias serves it, or would after a rollback.
        """
        model, number = parse_index(name)

        def find(session: Session) -> tuple[IndexRow, Usage, tuple[str, ...]]:
            row = find_index(session, model, number)
            folder = (INDICES, model, str(number))
            return row, usage_of_index(session, row), folder

        return self._delete(name, find, False, dry_run)

    def delete_gallery(
        self, name: str, *, with_evidence: bool = False, dry_run: bool = False
    ) -> Deletion:
        """Deletes a gallery with all its rows, which are nowhere else.

        Args:
            name: Such as `"kanji/gallery"`.
            with_evidence: Delete the evidence that was measured on it, too.
            dry_run: Only say what would go.

        Raises:
            NotFoundError: There is none.
            GateRefusedError: There is an index of its rows, the protocol of an alias
                measures on it, or there is evidence.
        """
        check_gallery_name(name)

        def find(session: Session) -> tuple[GalleryRow, Usage, tuple[str, ...]]:
            row = find_gallery(session, name)
            if row is None:
                raise no_gallery(session, name)
            return row, usage_of_gallery(session, row), (GALLERIES, *name.split("/"))

        return self._delete(name, find, with_evidence, dry_run)

    def delete_alias(
        self, name: str, *, reason: str | None = None, dry_run: bool = False
    ) -> Deletion:
        """Deletes an alias; its history stays, and says who did it and why.

        An alias of that name that is made later begins anew: its first promotion asks
        for no proof.

        Args:
            name: Such as `"glyphs@canary"`.
            reason: What the history is to say; needed unless `dry_run`.
            dry_run: Only say what would go.

        Raises:
            NotFoundError: There is none.
            UsageError: There is no reason.
        """
        model, alias = parse_alias(name)
        scope = self.database.reading() if dry_run else self.database.writing()
        with scope as session:
            row = alias_row(session, name)
            if not dry_run:
                if not (reason and reason.strip()):
                    raise UsageError(
                        "Deleting an alias needs a `reason` (--reason TEXT) for its "
                        "history."
                    )
                move(
                    session,
                    model,
                    alias,
                    "delete",
                    standing(session, model, alias),
                    version_id=row.version_id,
                    index_id=row.index_id,
                    protocol=row.protocol,
                    protocol_digest=None,
                    reason=reason,
                )
                session.delete(row)
        return Deletion(name, None, 0)

    def _delete(
        self,
        name: str,
        find: Callable[[Session], tuple[_Deletable, Usage, tuple[str, ...]]],
        with_evidence: bool,
        dry_run: bool,
    ) -> Deletion:
        scope = self.database.reading() if dry_run else self.database.writing()
        with scope as session:
            row, usage, folder = find(session)
            reasons = usage.refusals(with_evidence=with_evidence)
            if reasons:
                raise GateRefusedError(
                    f"{name} is not deleted; nothing was changed:", reasons
                )
            deletion = Deletion(
                name,
                self.root.location(*folder),
                self.root.size(*folder),
                usage.evidence,
            )
            if dry_run:
                return deletion
            _delete_evidence(session, usage.evidence)
            row.state = "deleted"
        # From here on nobody is told of the files; a kill leaves them to the garbage.
        # As the only writer, since a gallery of that name may be made anew meanwhile.
        with self.database.writing() as session:
            if is_nobodys(session, folder):
                self.root.remove(*folder)
        return deletion

    def collect_garbage(
        self, *, dry_run: bool = False, unserved_indices: bool = False
    ) -> list[Garbage]:
        """Removes the files that nothing of the registry names.

        Args:
            dry_run: Only say what would go.
            unserved_indices: Delete the indices, too, that no alias serves or would
                serve after a rollback.

        Returns:
            What was removed, with its size and why nobody names it; and what lies in
            the registry's folders that it knows nothing of, which stays.
        """
        from registry.deletion.garbage import collect

        self.database.refuse_read_only()
        deleted = []
        if unserved_indices:
            for index in self.indices():
                with self.database.reading() as session:
                    row = find_index(session, index.model, index.number)
                    used = usage_of_index(session, row).by
                if not used:
                    deleted.append(self.delete_index(index.name, dry_run=dry_run))
        return collect(self.database, self.root, deleted, dry_run=dry_run)


_Deletable = VersionRow | AdapterRow | IndexRow | GalleryRow


def _delete_evidence(session: Session, numbers: tuple[int, ...]) -> None:
    for table, column in (
        (EdgeRow, EdgeRow.evidence_id),
        (EvidenceMetricRow, EvidenceMetricRow.evidence_id),
        (EvidenceRow, EvidenceRow.id),
    ):
        session.execute(delete(table).where(column.in_(numbers)))
