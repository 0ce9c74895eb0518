"""The metadata database: SQLite in WAL mode by default, PostgreSQL by URL."""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import tempfile
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import event, text
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from registry.errors import RegistryError, SchemaError, UsageError
from registry.metadata.columns import Base
from registry.metadata.database_url import parse_database_url, without_secrets
from registry.metadata.read_only_file import ReadOnlyFile
from registry.metadata.schema import FIRST_TABLES, HEAD, VERSION_TABLE

BUSY_SECONDS = 60
"""How long a writer waits for another one before it gives up."""

_PROBE = 1 << 20
"""Bytes that SQLite may want beside its file, to see whether there is room for them."""

_POSTGRES_LOCK = 0x6B5F626374  # "k_bct"; any number that other programs do not use

_ALEMBIC_TABLE = "alembic_version"
"""Where registries of before kept their revision. Other programs keep theirs there."""


class Database:
    """A connection to the metadata, with one writer at a time.

    Readers see the state before or after a write, never in between.
    """

    def __init__(self, url: str | URL) -> None:
        """Opens nothing yet.

        Args:
            url: An SQLAlchemy URL, `sqlite:////folder/registry.db` or
                `postgresql+psycopg://user@host/name`.

        Raises:
            UsageError: The URL cannot be parsed or its driver is not installed.
        """
        self.url: URL = parse_database_url(url)
        file = self._sqlite_file
        self._read_only = None if file is None else ReadOnlyFile.of(file)
        try:
            self._engine: Engine = _engine(self.url, self._read_only)
        except ArgumentError as error:
            raise UsageError(f"{self} names no database: {error}.") from error
        except ModuleNotFoundError as error:
            raise UsageError(
                f"The driver of {self} is not installed: `pip install {error.name}`."
            ) from error
        self._checked = False

    def __str__(self) -> str:
        """Its URL, without passwords."""
        return without_secrets(self.url)

    def exists(self) -> bool:
        """Whether the database has been initialised."""
        return self.revision() is not None

    def revision(self) -> str | None:
        """Revision of the schema in the database, None when it has none.

        Raises:
            SchemaError: It has some of a registry's tables and lacks others, or a
                revision that no release has made.
            RegistryError: The database does not answer.
        """
        return self._look()[0]

    def _look(self) -> tuple[str | None, Set[str]]:
        """The revision, and the names of all tables, other programs' included."""
        if self._sqlite_file is not None and not self._sqlite_file.exists():
            return None, set()
        try:
            with self._engine.connect() as connection:
                tables = set(sqlalchemy.inspect(connection).get_table_names())
                found = self._recognise(connection, tables)
                return found, tables
        except SQLAlchemyError as error:
            raise self._unreachable(error) from error

    def _recognise(self, connection: Connection, tables: Set[str]) -> str | None:
        own = set(Base.metadata.tables)
        if VERSION_TABLE in tables:
            kept_in = VERSION_TABLE
        elif _ALEMBIC_TABLE in tables and tables >= FIRST_TABLES:
            kept_in = _ALEMBIC_TABLE
        elif tables & own:
            raise self._damaged(tables)
        else:
            return None
        found = connection.execute(text(f"SELECT version_num FROM {kept_in}")).scalar()
        if found is None and not tables & own:
            return None
        # Revisions of ours are numbers; other programs' are not.
        if not re.fullmatch("[0-9]{4}", str(found)):
            raise self._damaged(tables)
        if not tables >= (own if found == HEAD else FIRST_TABLES):
            raise self._damaged(tables)
        return str(found)

    def _damaged(self, tables: Set[str]) -> SchemaError:
        own = {*Base.metadata.tables, VERSION_TABLE}
        lacking = sorted(own - tables) or ["a revision that a release made"]
        return SchemaError(
            f"{self} is another program's database, or a registry's of which a part is "
            f"lost: it has {', '.join(sorted(own & tables))}, but not "
            f"{', '.join(lacking)}. Nothing was changed. Name another database, or "
            "restore this one from a copy."
        )

    @property
    def _sqlite_file(self) -> Path | None:
        if self.url.get_backend_name() != "sqlite" or not self.url.database:
            return None
        return Path(self.url.database)

    def migrate(self) -> None:
        """Brings the schema to this release's, from nothing or from an older one.

        Raises:
            UsageError: It is the database of another program.
            SchemaError: The schema is newer than this release, or a part of it lost.
        """
        found, tables = self._look()
        if found == HEAD and VERSION_TABLE in tables:
            return
        if found is not None and found > HEAD:
            raise _newer(found, self.url)
        if found is None and (others := _others(tables)):
            raise UsageError(
                f"{self} is another program's database: it has {others}. Nothing was "
                "changed. A registry wants one of its own; name it with --database or "
                "REGISTRY_DATABASE. In PostgreSQL a schema of its own will do: "
                "?options=-csearch_path%3Dregistry behind the URL."
            )
        self.refuse_read_only()
        if self._sqlite_file is not None:
            self._sqlite_file.parent.mkdir(parents=True, exist_ok=True)
        logging.getLogger("alembic").setLevel(logging.WARNING)
        # Imported only here: a listing must not wait for it.
        import alembic.command
        import alembic.config

        config = alembic.config.Config()
        config.set_main_option("script_location", "registry.metadata:migrations")
        with self._answering(), self._begin(write=True) as connection:
            # Looked at again: another process may have done it meanwhile.
            if found is not None and not sqlalchemy.inspect(connection).has_table(
                VERSION_TABLE
            ):
                connection.execute(
                    text(f"ALTER TABLE {_ALEMBIC_TABLE} RENAME TO {VERSION_TABLE}")
                )
            config.attributes["connection"] = connection
            alembic.command.upgrade(config, "head")
        self._checked = True

    def check(self) -> None:
        """Raises when the schema is not the one that this release works with.

        Raises:
            UsageError: There is no registry.
            SchemaError: The schema is newer or older, or a part of it is lost.
        """
        if self._checked:
            return
        found, tables = self._look()
        if found is None and (others := _others(tables)):
            raise UsageError(
                f"There is no registry in {self}, which is another program's database: "
                f"it has {others}. Name the registry's with --root or REGISTRY_ROOT, "
                "and --database or REGISTRY_DATABASE."
            )
        if found is None:
            raise UsageError(
                f"There is no registry in {self}. Make one with `registry init`, "
                "or name another with --root or REGISTRY_ROOT."
            )
        if found > HEAD:
            raise _newer(found, self.url)
        if found < HEAD:
            raise SchemaError(
                f"{self} has schema {found}; this release works with {HEAD}. "
                "Bring it up to date with `registry init` (make a copy first)."
            )
        self._checked = True

    @contextlib.contextmanager
    def _begin(self, *, write: bool) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            connection.execution_options(registry_write=write)
            with connection.begin():
                if write and self.url.get_backend_name() == "postgresql":
                    connection.execute(
                        text("SELECT pg_advisory_xact_lock(:lock)"),
                        {"lock": _POSTGRES_LOCK},
                    )
                yield connection

    @contextlib.contextmanager
    def _session(self, *, write: bool) -> Iterator[Session]:
        self.check()
        if write:
            self.refuse_read_only()
        before = None if self._read_only is None else self._read_only.state()
        with (
            self._answering(),
            self._begin(write=write) as connection,
            Session(connection, expire_on_commit=False) as session,
        ):
            yield session
            session.flush()
        if self._read_only is not None and self._read_only.state() != before:
            raise RegistryError(
                f"{self} was written while it was read, by somebody who cannot be "
                "waited for where it can only be read. Do it again."
            )

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            # Its subclasses speak of the statement; these two of the database itself.
            if type(error) in (OperationalError, DatabaseError):
                raise self._unreachable(error) from error
            raise

    def refuse_read_only(self) -> None:
        """Raises where nothing can be written, for work that would be for nothing.

        Raises:
            RegistryError: The database is a file that can only be read.
        """
        if self._read_only is not None:
            raise self._read_only.refuse()

    def _unreachable(self, error: SQLAlchemyError) -> RegistryError:
        cause = getattr(error, "orig", None) or error
        if self._read_only is not None and "unable to open" in str(cause):
            return self._read_only.unread()
        if self._sqlite_file is not None:
            # SQLite calls a full disk an I/O error, too.
            full = _refusal_to_write(self._sqlite_file.absolute().parent)
            cause = cause if full is None else f"{full} ({cause})"
        return RegistryError(f"The database {self} does not answer: {cause}")

    def reading(self) -> contextlib.AbstractContextManager[Session]:
        """A session on one consistent state."""
        return self._session(write=False)

    def writing(self) -> contextlib.AbstractContextManager[Session]:
        """A session that is the only writer; committed on leaving, or rolled back."""
        return self._session(write=True)

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()


def _engine(url: URL, read_only: ReadOnlyFile | None) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(url, pool_pre_ping=True)
    if read_only is not None:
        # A connection for each session: an open one would not see later changes.
        return sqlalchemy.create_engine(
            url, creator=read_only.connect, poolclass=NullPool
        )
    engine = sqlalchemy.create_engine(
        url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        # sqlite3 would begin transactions by itself, too late and of the wrong kind.
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer takes the lock at once: two that read first and write later would
        # both decide on a state that only one of them may change.
        write = connection.get_execution_options().get("registry_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _others(tables: Set[str]) -> str:
    """Names of some tables that are not ours, empty when there are none."""
    others = sorted(tables - set(Base.metadata.tables) - {VERSION_TABLE})
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return ", ".join(f"the table {name}" for name in others[:3]) + more


def _newer(found: str, url: URL) -> SchemaError:
    return SchemaError(
        f"{without_secrets(url)} has schema {found}, made by a newer release; this one "
        f"works with {HEAD}. Nothing was changed. Upgrade with `pip install --upgrade "
        "keras-bct`."
    )


def _refusal_to_write(folder: Path) -> str | None:
    """Why no more can be written to a folder; None where it can be."""
    if not folder.is_dir():
        return None
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE))
            probe.flush()
    except OSError as error:
        free = shutil.disk_usage(folder).free
        return (
            f"{error.strerror} in {folder}, which has {free:,} bytes left; make room, "
            "then do it again"
        )
    return None
