import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

import registry as package
from registry import Registry, SchemaError, UsageError
from registry.database import Database
from registry.schema import HEAD, Base


@pytest.fixture
def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/registry.db")
    database.migrate()
    return database


def set_revision(database, revision):
    with database._begin(write=True) as connection:
        connection.execute(
            text("UPDATE alembic_version SET version_num = :r"), {"r": revision}
        )
    database._checked = False


def test_migrations_make_the_tables_that_the_classes_declare(database):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with database._begin(write=False) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_the_newest_migration_is_the_one_that_the_code_expects():
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "registry:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_migrations_are_packaged():
    folder = Path(package.__file__).parent / "migrations"
    assert (folder / "env.py").is_file()
    assert list((folder / "versions").glob("0001_*.py"))


def test_migrating_twice_changes_nothing(database):
    database.migrate()
    assert database.revision() == HEAD


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
        writer.execute(text("INSERT INTO models VALUES ('a', 1, 1, '2026-01-01')"))
        with database.reading() as reader:
            assert reader.execute(text("SELECT count(*) FROM models")).scalar() == 0
    with database.reading() as reader:
        assert reader.execute(text("SELECT count(*) FROM models")).scalar() == 1


def test_an_error_undoes_the_write(database):
    with pytest.raises(ZeroDivisionError), database.writing() as writer:
        writer.execute(text("INSERT INTO models VALUES ('a', 1, 1, '2026-01-01')"))
        raise ZeroDivisionError
    with database.reading() as reader:
        assert reader.execute(text("SELECT count(*) FROM models")).scalar() == 0


def test_two_processes_that_count_up_lose_no_count(database, environment):
    with database.writing() as writer:
        writer.execute(text("INSERT INTO models VALUES ('a', 1, 1, '2026-01-01')"))
    script = (
        "import sys\n"
        "from registry.database import Database\n"
        "from registry.schema import ModelRow\n"
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
