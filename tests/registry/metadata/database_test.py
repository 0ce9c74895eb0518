import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

import registry as package
from keras_bct.embedding_parts import NOTHING_NAMED
from registry import Registry, SchemaError, UsageError
from registry.metadata.columns import Base
from registry.metadata.database import Database
from registry.metadata.schema import FIRST_TABLES, HEAD, VERSION_TABLE


@pytest.fixture
def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/registry.db")
    database.migrate()
    return database


def set_revision(database, revision):
    with database._begin(write=True) as connection:
        connection.execute(
            text(f"UPDATE {VERSION_TABLE} SET version_num = :r"), {"r": revision}
        )
    database._checked = False


def tables(file):
    with contextlib.closing(sqlite3.connect(file)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        return {name for (name,) in found}


def make_tables(file, *names, alembic=None):
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        for name in names:
            connection.execute(f"CREATE TABLE {name} (x)")
        if alembic is not None:
            connection.execute("CREATE TABLE alembic_version (version_num)")
            connection.execute(f"INSERT INTO alembic_version VALUES ('{alembic}')")


def test_migrations_make_the_tables_that_the_classes_declare(database):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with database._begin(write=False) as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_the_newest_migration_is_the_one_that_the_code_expects():
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "registry.metadata:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_migrations_are_packaged():
    folder = Path(package.__file__).parent / "metadata" / "migrations"
    assert (folder / "env.py").is_file()
    assert list((folder / "versions").glob("0001_*.py"))


def test_migrating_twice_changes_nothing(database):
    database.migrate()
    assert database.revision() == HEAD


OF_THE_FIRST_RELEASE = """
INSERT INTO models VALUES ('toys', 3, 1, '2026-01-01');
INSERT INTO versions VALUES
    (1, 'toys', 1, 'registered', '{}', '2026-01-01', 'a', 16, 'cosine', NULL, '{}',
     '2026-01-01'),
    (2, 'toys', 2, 'registered', '{}', '2026-01-01', 'b', 16, 'cosine', 1, '{}',
     '2026-01-01');
INSERT INTO evidence VALUES
    (7, 'b', 'a', NULL, 'toy.yaml', 'toy', 'p', 'd', 'cosine', 16, 'yes', '[]', 0, '',
     '2026-01-01');
INSERT INTO edges VALUES
    (5, 'b', 'a', 'direct', NULL, 'cosine', 16, 'p', 7, '2026-01-01');
INSERT INTO galleries VALUES ('toys/all', 'toys', 16, '2026-01-01');
INSERT INTO indices VALUES
    (1, 'toys', 1, 'toys/all', 1, '{"a": 3}', 16, 'cosine', 3, 1.0, 'm', '2026-01-01');
INSERT INTO alias_moves VALUES
    (1, 'toys', 'production', 'bootstrap', NULL, 1, NULL, NULL, NULL, 'toy.yaml', NULL,
     '[]', NULL, 'me', '2026-01-01');
INSERT INTO aliases VALUES ('toys', 'production', 1, 1, 'toy.yaml', 1);
"""


def test_what_the_first_release_stored_is_kept(tmp_path):
    import alembic.command
    import alembic.config

    database = Database(f"sqlite:///{tmp_path}/registry.db")
    config = alembic.config.Config()
    config.set_main_option("script_location", "registry.metadata:migrations")
    with database._begin(write=True) as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "0001")
        connection.execute(
            text(f"ALTER TABLE {VERSION_TABLE} RENAME TO alembic_version")
        )
        for statement in OF_THE_FIRST_RELEASE.strip().split(";\n"):
            connection.execute(text(statement))
    with pytest.raises(SchemaError, match="registry init"):
        Registry(tmp_path)

    registry = Registry.init(tmp_path)
    assert [v.name for v in registry.versions()] == ["toys/1", "toys/2"]
    assert registry.version("toys/1").parts == NOTHING_NAMED
    (edge,) = registry.edges()
    assert (edge.new_fingerprint, edge.kind, edge.evidence_id) == ("b", "direct", 7)
    assert edge.adapter_fingerprint is None
    alias = registry.alias("toys@production")
    assert (alias.version.name, alias.index.name) == ("toys/1", "toys#1")
    assert alias.index.adapters == {}
    assert registry.history("toys@production")[0].protocol_digest is None
    registry.database.close()
    assert FIRST_TABLES | {VERSION_TABLE} <= tables(tmp_path / "registry.db")
    assert "alembic_version" not in tables(tmp_path / "registry.db")


def test_a_migration_that_fails_leaves_no_half_schema(tmp_path, monkeypatch):
    import alembic.op

    def fail(*_):
        raise RuntimeError("the power went")

    monkeypatch.setattr(alembic.op, "execute", fail)
    database = Database(f"sqlite:///{tmp_path}/registry.db")
    with pytest.raises(RuntimeError):
        database.migrate()
    assert database.revision() is None
    with database._begin(write=False) as connection:
        tables = connection.execute(text("SELECT name FROM sqlite_master")).all()
    assert tables == []


@pytest.mark.parametrize("alembic", [None, "0001", "451aebb31d03"])
def test_another_programs_database_is_named_as_such_and_not_touched(tmp_path, alembic):
    file = tmp_path / "registry.db"
    make_tables(file, "experiments", "runs", alembic=alembic)
    before = file.read_bytes()
    with pytest.raises(UsageError, match=r"another program.*experiments.*Name"):
        Registry(tmp_path)
    with pytest.raises(UsageError, match=r"another program.*Nothing was changed"):
        Registry.init(tmp_path)
    assert file.read_bytes()[100:] == before[100:]
    names = {"experiments", "runs"} | ({"alembic_version"} if alembic else set())
    assert tables(file) == names


@pytest.mark.parametrize("alembic", [None, "451aebb31d03"])
@pytest.mark.parametrize("names", [{"models"}, FIRST_TABLES - {"edges"}, FIRST_TABLES])
def test_a_part_of_a_registry_is_not_taken_for_one(tmp_path, names, alembic):
    file = tmp_path / "registry.db"
    make_tables(file, *names, alembic=alembic)
    before = tables(file)
    for opens in (Registry, Registry.init):
        with pytest.raises(SchemaError, match=r"models.*but not.*Nothing was changed"):
            opens(tmp_path)
    assert tables(file) == before


@pytest.mark.parametrize("lost", ["aliases", "adapters"])
def test_a_table_that_is_lost_is_named(database, lost):
    with database._begin(write=True) as connection:
        connection.execute(text(f"DROP TABLE {lost}"))
    opened = Database(database.url)
    with pytest.raises(SchemaError, match=f"but not {lost}.*from a copy"):
        opened.check()


def test_a_file_without_tables_becomes_a_registry(tmp_path):
    (tmp_path / "registry.db").touch()
    with pytest.raises(UsageError, match="registry init"):
        Registry(tmp_path)
    assert Registry.init(tmp_path).versions() == []


def test_a_newer_schema_is_refused_by_everything(registry):
    set_revision(registry.database, "9999")
    with pytest.raises(SchemaError, match=r"schema 9999.*newer release.*Upgrade"):
        registry.versions()
    with pytest.raises(SchemaError, match="newer release"):
        Registry(registry.root.url)
    with pytest.raises(SchemaError, match="newer release"):
        Registry.init(registry.root.url)


def test_an_older_schema_asks_for_a_migration(registry):
    set_revision(registry.database, "0000")
    with pytest.raises(SchemaError, match="registry init"):
        registry.versions()


def test_a_folder_without_registry_is_refused(tmp_path):
    with pytest.raises(UsageError, match="registry init"):
        Registry(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_url_that_is_none_is_refused():
    with pytest.raises(UsageError, match="database URL"):
        Database("registry.db")


def test_a_driver_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match="pip install psycopg"):
        Database("postgresql+psycopg://host/name")


def test_the_log_is_written_ahead(database):
    with database.reading() as session:
        assert session.execute(text("PRAGMA journal_mode")).scalar() == "wal"


def test_a_reader_is_not_held_up_by_a_writer(database):
    with database.writing() as writer:
        writer.execute(text("INSERT INTO models VALUES ('a', 1, 1, '2026-01-01', 1)"))
        with database.reading() as reader:
            assert reader.execute(text("SELECT count(*) FROM models")).scalar() == 0
    with database.reading() as reader:
        assert reader.execute(text("SELECT count(*) FROM models")).scalar() == 1


def test_an_error_undoes_the_write(database):
    with pytest.raises(ZeroDivisionError), database.writing() as writer:
        writer.execute(text("INSERT INTO models VALUES ('a', 1, 1, '2026-01-01', 1)"))
        raise ZeroDivisionError
    with database.reading() as reader:
        assert reader.execute(text("SELECT count(*) FROM models")).scalar() == 0


def test_two_processes_that_count_up_lose_no_count(database, environment):
    with database.writing() as writer:
        writer.execute(text("INSERT INTO models VALUES ('a', 1, 1, '2026-01-01', 1)"))
    script = (
        "import sys\n"
        "from registry.metadata.database import Database\n"
        "from registry.metadata.schema import ModelRow\n"
        "database = Database(sys.argv[1])\n"
        "for _ in range(50):\n"
        "    with database.writing() as session:\n"
        "        session.get(ModelRow, 'a').next_version += 1\n"
    )
    url = str(database.url)
    writers = [
        subprocess.Popen([sys.executable, "-c", script, url], env=environment)
        for _ in range(2)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    with database.reading() as reader:
        assert reader.execute(text("SELECT next_version FROM models")).scalar() == 101
