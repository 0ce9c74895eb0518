"""Registering an adapter: between two versions that are registered already."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.adapters.files import DESCRIPTION, AdapterCandidate
from registry.artifacts import reservation
from registry.artifacts.storage import ArtifactRoot
from registry.errors import AdapterExistsError, InvalidAdapterError, NotFoundError
from registry.fingerprint import Progress
from registry.metadata.database import Database
from registry.metadata.schema import AdapterRow, ModelRow, VersionRow
from registry.versions.candidate import plain
from registry.versions.known_model import require_model


def register_adapter(
    database: Database,
    root: ArtifactRoot,
    candidate: AdapterCandidate,
    progress: Progress | None = None,
) -> AdapterRow:
    """Copies an adapter into the registry under the next number of its new model.

    Args:
        database: Where adapters are kept.
        root: Where files are kept.
        candidate: What was looked at.
        progress: Told the number of bytes copied.

    Raises:
        InvalidAdapterError: One of its versions is not registered, or of another size.
        AdapterExistsError: The same files are registered.
        IntegrityError: The files changed while they were copied.
        RegistryError: They cannot be copied, for one because the disk is full.
    """
    with database.reading() as session:
        model = _ends(session, candidate)[1].model
    reservation.clear_dead(database, root, AdapterRow, model)
    row = _reserve(database, root, candidate)
    return reservation.fill(
        database,
        root,
        row,
        candidate.directory,
        candidate.files,
        about={
            "adapter": row.number,
            "old_fingerprint": row.old_fingerprint,
            "new_fingerprint": row.new_fingerprint,
        },
        last=[DESCRIPTION, "saved_model.pb"],
        progress=progress,
    )


def _reserve(
    database: Database, root: ArtifactRoot, candidate: AdapterCandidate
) -> AdapterRow:
    about = candidate.description
    with database.writing() as session:
        model = session.get_one(ModelRow, _ends(session, candidate)[1].model)
        same = session.scalars(
            select(AdapterRow).where(
                AdapterRow.model == model.name,
                AdapterRow.fingerprint == candidate.fingerprint,
                AdapterRow.state != "deleted",
            )
        ).first()
        if same is not None:
            raise AdapterExistsError(
                f"The files of {candidate.directory} are "
                + (
                    f"registered as {same.name} already"
                    if same.state == "registered"
                    else f"being registered as {same.name} by another process"
                )
                + f" (fingerprint {candidate.fingerprint[:12]}).",
                same.name,
            )
        row = AdapterRow(
            model=model.name,
            number=model.next_adapter,
            fingerprint=candidate.fingerprint,
            **{
                name: getattr(about, name)
                for name in (
                    "old_fingerprint",
                    "new_fingerprint",
                    "direction",
                    "method",
                    "pairs",
                    "input_size",
                    "output_size",
                    "side_size",
                    "has_variance",
                )
            },
            settings=plain(about.settings),
            **reservation.place(),
        )
        reservation.refuse_stranger(root, row)
        model.next_adapter += 1
        session.add(row)
        session.flush()
        session.expunge_all()
        return row


def _ends(
    session: Session, candidate: AdapterCandidate
) -> tuple[VersionRow, VersionRow]:
    """The old and the new version, of the sizes that the adapter maps between.

    Raises:
        InvalidAdapterError: One is not registered, or of another size.
    """
    about = candidate.description
    ends = []
    for side in ("old", "new"):
        fingerprint = getattr(about, f"{side}_fingerprint")
        row = session.scalars(
            select(VersionRow)
            .where(
                VersionRow.fingerprint == fingerprint, VersionRow.state == "registered"
            )
            .order_by(VersionRow.id)
        ).first()
        if row is None:
            raise InvalidAdapterError(
                f"The `{side}_fingerprint` of {candidate.directory} should be that of "
                f"a registered version. Received: {fingerprint[:64]!r}; register the "
                "version first, or fit the adapter with the fingerprint that "
                "`registry.fingerprint.fingerprint(directory)` gives."
            )
        goes_in = (side == "old") == (about.direction == "old-to-new")
        size = about.input_size if goes_in else about.output_size
        if size != row.embedding_size:
            raise InvalidAdapterError(
                f"The {side} side of {candidate.directory} has {size} components. "
                f"{row.name} has {row.embedding_size}; fit it to whole embeddings."
            )
        ends.append(row)
    return ends[0], ends[1]


def find_adapter(session: Session, model: str, number: int) -> AdapterRow:
    """The row of a registered adapter.

    Raises:
        NotFoundError: There is none; the message names those that there are.
    """
    rows = session.scalars(
        select(AdapterRow)
        .where(AdapterRow.model == model, AdapterRow.state == "registered")
        .order_by(AdapterRow.number)
    ).all()
    for row in rows:
        if row.number == number:
            return row
    require_model(session, model)
    there = ", ".join(row.name for row in rows) or "none"
    raise NotFoundError(f"There is no adapter {model}:{number}. Registered: {there}.")
