"""Registering a version: a number of its model, and the files of a SavedModel."""

from __future__ import annotations

from dataclasses import asdict, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.artifacts import reservation
from registry.artifacts.storage import ArtifactRoot
from registry.errors import NotFoundError, UsageError, VersionExistsError
from registry.fingerprint import Progress
from registry.metadata.database import Database
from registry.metadata.schema import ModelRow, VersionRow
from registry.names import LARGEST_NUMBER, check_name
from registry.versions.candidate import Candidate
from registry.versions.known_model import require_model
from registry.versions.version import Version


def register(
    database: Database,
    root: ArtifactRoot,
    model: str,
    candidate: Candidate,
    *,
    number: int | None = None,
    predecessor: tuple[str, int] | None = None,
    progress: Progress | None = None,
) -> Version:
    """Copies `candidate` into the registry under the next number of `model`.

    Args:
        database: Where versions are kept.
        root: Where files are kept.
        model: Name of the model; made when it is new.
        candidate: What was looked at.
        number: The number to take, in place of the next one.
        predecessor: Model and number of the version that it was trained to work
            with.
        progress: Told the number of bytes copied.

    Raises:
        VersionExistsError: The number is taken, or the same files are registered.
        IntegrityError: The files changed while they were copied.
        RegistryError: They cannot be copied, for one because the disk is full.
    """
    check_name(model)
    reservation.clear_dead(database, root, VersionRow, model)
    row = _reserve(database, root, model, candidate, number, predecessor)
    filled = reservation.fill(
        database,
        root,
        row,
        candidate.directory,
        candidate.files,
        about={
            "version": row.number,
            "embedding_size": candidate.embedding_size,
            "distance": candidate.distance,
            "parts": asdict(candidate.parts),
        },
        added=candidate.added,
        last=["saved_model.pb"],
        progress=progress,
    )
    version = Version.from_row(filled, root.location(*filled.folder))
    return replace(version, created=row.created)


def _reserve(
    database: Database,
    root: ArtifactRoot,
    model: str,
    candidate: Candidate,
    number: int | None,
    predecessor: tuple[str, int] | None,
) -> VersionRow:
    with database.writing() as session:
        known = session.get(ModelRow, model)
        if known is None:
            known = ModelRow(name=model, next_version=1)
            session.add(known)
            session.flush()
        same = session.scalars(
            select(VersionRow).where(
                VersionRow.model == model,
                VersionRow.fingerprint == candidate.fingerprint,
                VersionRow.state != "deleted",
            )
        ).first()
        if same is not None:
            name = f"{model}/{same.number}"
            raise VersionExistsError(
                f"The files of {candidate.directory} are "
                + (
                    f"registered as {name} already"
                    if same.state == "registered"
                    else f"being registered as {name} by another process"
                )
                + f" (fingerprint {candidate.fingerprint[:12]}).",
                name,
            )
        if number is not None and number < known.next_version:
            raise VersionExistsError(
                f"{model}/{number} exists or existed; numbers are not used twice. "
                f"The next one is {model}/{known.next_version}.",
                f"{model}/{number}",
            )
        number = known.next_version if number is None else number
        if number > LARGEST_NUMBER:
            raise UsageError(
                f"There is no number after {model}/{LARGEST_NUMBER}, and numbers are "
                f"not used twice. Register it under another name than {model!r}."
            )
        known.next_version = number + 1
        before = None if predecessor is None else find(session, *predecessor)
        row = VersionRow(
            model=model,
            number=number,
            fingerprint=candidate.fingerprint,
            embedding_size=candidate.embedding_size,
            distance=candidate.distance,
            predecessor=before,
            training=dict(candidate.training),
            parts=asdict(candidate.parts),
            **reservation.place(),
        )
        reservation.refuse_stranger(root, row)
        session.add(row)
        session.flush()
        session.refresh(row)
        session.expunge_all()
        return row


def find(session: Session, model: str, number: int) -> VersionRow:
    """The row of a registered version.

    Raises:
        NotFoundError: There is none; the message names those that there are.
    """
    row = session.scalars(
        select(VersionRow).where(
            VersionRow.model == model,
            VersionRow.number == number,
            VersionRow.state == "registered",
        )
    ).one_or_none()
    if row is None:
        require_model(session, model)
        numbers = session.scalars(
            select(VersionRow.number)
            .where(VersionRow.model == model, VersionRow.state == "registered")
            .order_by(VersionRow.number)
        ).all()
        there = ", ".join(f"{model}/{n}" for n in numbers)
        raise NotFoundError(
            f"There is no version {model}/{number}. Registered: {there}."
        )
    return row
