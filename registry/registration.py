"""How a SavedModel becomes a version: whole, or not at all.

The number is reserved first, `saved_model.pb` is copied last, and the version is
visible once the database says `registered`. Whatever instant the process dies at,
what is left is a reservation whose writer is dead; the next registration of that
model clears it away. Numbers are never used twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.database import Database
from registry.errors import (
    IntegrityError,
    InvalidModelError,
    NotFoundError,
    RegistryError,
    UsageError,
    VersionExistsError,
)
from registry.fingerprint import (
    MANIFEST,
    FileDigest,
    Progress,
    combine,
    digest_file,
    list_files,
    read_chunks,
)
from registry.names import check_name
from registry.saved_model import embedding_size
from registry.schema import ModelRow, VersionRow, now
from registry.storage import ArtifactRoot
from registry.version import Version
from registry.writer import Writer

DISTANCES = ("cosine", "l2", "inner_product")

LEASE = timedelta(minutes=10)
"""How long a silent writer on another machine counts as alive."""

_SAVED_MODEL = "saved_model.pb"


@dataclass(frozen=True)
class Candidate:
    """A directory that has been looked at and may be registered.

    Attributes:
        directory: Local folder with `saved_model.pb` directly inside.
        files: Digest of each file by relative path.
        fingerprint: SHA-256 over all of them.
        embedding_size: Components of its embedding.
        distance: What its embeddings are compared with.
        training: Summary of its training.
    """

    directory: Path
    files: Mapping[str, FileDigest]
    fingerprint: str
    embedding_size: int
    distance: str
    training: Mapping[str, Any]


def inspect(
    directory: Path,
    *,
    size: int | None = None,
    distance: str | None = None,
    training: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Candidate:
    """Reads what a SavedModel says about itself; loads no TensorFlow.

    Args:
        directory: Local folder with `saved_model.pb` directly inside.
        size: Embedding size, for a SavedModel that does not say it.
        distance: Distance, for a SavedModel that does not say it.
        training: Training summary, put in place of the one in `version.json`.
        progress: Told the number of bytes read.

    Raises:
        InvalidModelError: It is no SavedModel, it has no embedding output, or its
            size is another than `size` or `version.json` says.
        UsageError: Nothing says what the embedding size or the distance is.
    """
    declared = _declared(directory)
    measured = embedding_size(directory)
    sizes = {
        "the SavedModel's signature": measured,
        "assets.extra/version.json": declared.get("embedding_size"),
        "the argument `embedding_size`": size,
    }
    known = {origin: value for origin, value in sizes.items() if value is not None}
    for origin, value in known.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InvalidModelError(
                f"`embedding_size` by {origin} should be a positive int. "
                f"Received: {value!r}."
            )
    if len(set(known.values())) > 1:
        raise InvalidModelError(
            f"The embedding size of {directory} is contradictory: "
            + ", ".join(f"{value} by {origin}" for origin, value in known.items())
            + ". Register it with the size that it really has."
        )
    if not known:
        raise UsageError(
            f"Nothing says how many components the embedding of {directory} has. "
            "Pass `embedding_size` (--embedding-size on the command line)."
        )
    distance = distance or declared.get("distance")
    if distance not in DISTANCES:
        raise UsageError(
            f"`distance` should be one of {', '.join(DISTANCES)} (--distance on the "
            f"command line, or assets.extra/version.json). Received: {distance!r}."
        )
    paths = list_files(directory)
    files = {name: digest_file(paths[name], progress) for name in sorted(paths)}
    return Candidate(
        directory=directory,
        files=files,
        fingerprint=combine(files),
        embedding_size=next(iter(known.values())),
        distance=distance,
        training=_plain(declared.get("training", {}) if training is None else training),
    )


def _plain(training: Any) -> dict[str, Any]:
    """A training summary as JSON has it, which knows neither NaN nor infinity."""
    if not isinstance(training, Mapping):
        raise InvalidModelError(
            f"`training` should be a mapping. Received: {training!r}."
        )
    try:
        text = json.dumps(dict(training))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"`training` should be what JSON can hold: {error}."
        ) from error
    plain: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
    return plain


def _declared(directory: Path) -> dict[str, Any]:
    path = directory / "assets.extra" / "version.json"
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise InvalidModelError(f"{path} is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.get("schema") != 1:
        raise InvalidModelError(
            f'{path} should be a JSON object with "schema": 1. '
            f"Received: {str(content)[:80]}."
        )
    return content


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
        candidate: What `inspect` returned.
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
    clear_dead(database, root, model)
    row = _reserve(database, root, model, candidate, number, predecessor)
    folder = (model, str(row.number))
    try:
        _copy(database, root, folder, row, candidate, progress)
        return _publish(database, root, row)
    except BaseException as error:
        # Only what is unpublished: a signal may arrive just after the commit, and the
        # files of a registered version stay.
        if _abandon(database, row):
            root.remove(*folder)
            _forget(database, row)
        if isinstance(error, OSError):
            size = sum(file.size for file in candidate.files.values())
            raise RegistryError(
                f"{candidate.directory} ({size:,} bytes) could not be copied to "
                f"{root.location(*folder)}: {error.strerror or error}. Nothing was "
                "registered and nothing is left there; make room and register again."
            ) from error
        raise


def _reserve(
    database: Database,
    root: ArtifactRoot,
    model: str,
    candidate: Candidate,
    number: int | None,
    predecessor: tuple[str, int] | None,
) -> VersionRow:
    writer = Writer.current()
    with database.writing() as session:
        known = session.get(ModelRow, model)
        if known is None:
            known = ModelRow(name=model, next_version=1, next_index=1)
            session.add(known)
            session.flush()
        same = session.scalars(
            select(VersionRow).where(
                VersionRow.model == model,
                VersionRow.fingerprint == candidate.fingerprint,
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
        if root.exists(model, str(number)):
            raise RegistryError(
                f"{root.location(model, str(number))} is there but not in the "
                "registry. Move it away, then register again."
            )
        known.next_version = number + 1
        before = None if predecessor is None else find(session, *predecessor)
        row = VersionRow(
            model=model,
            number=number,
            state="reserved",
            writer=writer.to_json(),
            lease=now() + LEASE,
            fingerprint=candidate.fingerprint,
            embedding_size=candidate.embedding_size,
            distance=candidate.distance,
            predecessor=before,
            training=dict(candidate.training),
            created=now(),
        )
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
        numbers = session.scalars(
            select(VersionRow.number)
            .where(VersionRow.model == model, VersionRow.state == "registered")
            .order_by(VersionRow.number)
        ).all()
        there = ", ".join(f"{model}/{n}" for n in numbers) or "none"
        raise NotFoundError(
            f"There is no version {model}/{number}. Registered: {there}."
        )
    return row


def _copy(
    database: Database,
    root: ArtifactRoot,
    folder: tuple[str, str],
    row: VersionRow,
    candidate: Candidate,
    progress: Progress | None,
) -> None:
    renew_at = now() + LEASE / 10

    def report(size: int) -> None:
        nonlocal renew_at
        if progress is not None:
            progress(size)
        if now() > renew_at:
            renew_at = now() + LEASE / 10
            _renew(database, row)

    def copy(name: str) -> None:
        source = candidate.directory / name
        with open(source, "rb") as stream:
            written = root.write(
                root.location(*folder, name), read_chunks(stream), report
            )
        if written != candidate.files[name]:
            raise IntegrityError(
                f"Files of {candidate.directory} changed while they were registered. "
                "Nothing was registered; register again when its writer is done.",
                [name],
            )

    for name in candidate.files:
        if name != _SAVED_MODEL:
            copy(name)
    manifest = {
        "schema": 1,
        "model": row.model,
        "version": row.number,
        "fingerprint": candidate.fingerprint,
        "embedding_size": candidate.embedding_size,
        "distance": candidate.distance,
        "created": row.created.isoformat(),
        "files": {name: asdict(digest) for name, digest in candidate.files.items()},
    }
    root.write(
        root.location(*folder, MANIFEST),
        [json.dumps(manifest, indent=1, sort_keys=True).encode()],
    )
    copy(_SAVED_MODEL)


def _own(session: Session, row: VersionRow) -> VersionRow:
    mine = session.get(VersionRow, row.id)
    if mine is None or mine.writer != row.writer or mine.state != "reserved":
        raise RegistryError(
            f"The reservation of {row.model}/{row.number} was cleared by another "
            f"process, since it heard nothing for {LEASE}. Register again."
        )
    return mine


def _renew(database: Database, row: VersionRow) -> None:
    with database.writing() as session:
        _own(session, row).lease = now() + LEASE


def _publish(database: Database, root: ArtifactRoot, row: VersionRow) -> Version:
    with database.writing() as session:
        mine = _own(session, row)
        mine.state = "registered"
        session.flush()
        version = Version.from_row(mine, root.location(row.model, str(row.number)))
        return replace(version, created=row.created)


def _abandon(database: Database, row: VersionRow) -> bool:
    """Takes a reservation back; False when its version has been published."""
    with database.writing() as session:
        mine = session.get(VersionRow, row.id)
        # None when it was cleared by another process: what was written since still
        # has to go, and no other version ever gets this number.
        if mine is not None and mine.state == "registered":
            return False
        if mine is not None:
            mine.state = "abandoned"
        return True


def _forget(database: Database, row: VersionRow) -> None:
    with database.writing() as session:
        mine = session.get(VersionRow, row.id)
        if mine is not None and mine.state == "abandoned":
            session.delete(mine)


def clear_dead(database: Database, root: ArtifactRoot, model: str) -> list[str]:
    """Removes what registrations of `model` left behind that died on the way.

    Returns:
        Names of the versions that were cleared.
    """
    with database.writing() as session:
        rows = session.scalars(
            select(VersionRow).where(
                VersionRow.model == model, VersionRow.state != "registered"
            )
        ).all()
        dead = [row for row in rows if _is_dead(row)]
        # Taken away from its writer first: should it wake up, it cannot publish
        # files that are being removed.
        for row in dead:
            row.state = "abandoned"
    for row in dead:
        root.remove(row.model, str(row.number))
        _forget(database, row)
    return [f"{row.model}/{row.number}" for row in dead]


def _is_dead(row: VersionRow) -> bool:
    if row.state == "abandoned":
        return True
    alive = Writer.from_json(row.writer).alive()
    return now() > row.lease if alive is None else not alive
