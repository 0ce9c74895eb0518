"""The same registry on PostgreSQL; left out where the server or driver is missing."""

import os
import shutil
import subprocess
import sys
import tempfile

import pytest
import sqlalchemy
from sqlalchemy import text

from registry import GateRefusedError, Registry, UsageError

psycopg = pytest.importorskip("psycopg")
initdb = shutil.which("initdb")
if initdb is None or shutil.which("pg_ctl") is None:
    pytest.skip("there is no PostgreSQL server here", allow_module_level=True)


@pytest.fixture(scope="module")
def server():
    """A server of its own, which refuses to run as root."""
    # Not in pytest's folders: those are closed to the server's user, and their names
    # too long for a socket.
    folder = tempfile.mkdtemp(prefix="pg-", dir="/tmp")
    prefix = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data = f"{folder}/data"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
    subprocess.run([*prefix, "initdb", "-D", data, "-A", "trust", "-U", "me"], **quiet)
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    control = [*prefix, "pg_ctl", "-D", data, "-w", "-l", f"{folder}/log"]
    subprocess.run([*control, "-o", options, "start"], **quiet)
    yield f"postgresql+psycopg://me@/postgres?host={folder}"
    subprocess.run([*control, "-m", "immediate", "stop"], **quiet)
    shutil.rmtree(folder)


@pytest.fixture
def registry(server, tmp_path):
    """An empty registry whose metadata lie in PostgreSQL."""
    engine = sqlalchemy.create_engine(server)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    registry = Registry.init(tmp_path / "root", database=server)
    yield registry
    registry.database.close()


def test_migrations_make_the_tables_that_the_classes_declare(registry):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from registry.metadata.schema import VERSION_TABLE, Base

    with registry.database._begin(write=False) as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_a_registry_beside_another_program_is_carried_over(server, registry):
    """As it was made before: the revision in a table that other programs use too."""
    with registry.database._begin(write=True) as connection:
        connection.execute(
            text("ALTER TABLE registry_version RENAME TO alembic_version")
        )
        connection.execute(text("CREATE TABLE others (x int)"))
    registry.database.close()
    carried = Registry.init(registry.root.url, database=server)
    assert carried.versions() == []
    with carried.database._begin(write=False) as connection:
        names = set(sqlalchemy.inspect(connection).get_table_names())
    carried.database.close()
    assert "registry_version" in names and "alembic_version" not in names


def test_a_schema_of_its_own_keeps_it_apart_from_another_program(server, tmp_path):
    engine = sqlalchemy.create_engine(server)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
        connection.execute(text("CREATE TABLE runs (x int)"))
        connection.execute(text("DROP SCHEMA IF EXISTS registry CASCADE"))
        connection.execute(text("CREATE SCHEMA registry"))
    with pytest.raises(UsageError, match=r"the table runs.*search_path%3Dregistry"):
        Registry.init(tmp_path, database=server)
    apart = f"{server}&options=-csearch_path%3Dregistry"
    registry = Registry.init(tmp_path, database=apart)
    assert registry.versions() == []
    registry.database.close()
    with engine.begin() as connection:
        found = set(sqlalchemy.inspect(connection).get_table_names())
    engine.dispose()
    assert found == {"runs"}


def test_the_main_path(registry, make_model, make_evidence, protocol, fill_gallery):
    registry.register("glyphs", make_model("a"))
    registry.promote(
        "glyphs/1", "production", require_compatible=True, protocol=protocol
    )
    fill_gallery("kanji", "glyphs/1")
    registry.publish_index("kanji", "glyphs", "production")
    registry.register("glyphs", make_model("b"), predecessor="glyphs@production")
    with pytest.raises(GateRefusedError, match="no evidence"):
        registry.promote("glyphs/2", "production", require_compatible=True)
    registry.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    assert registry.promote("glyphs/2", "production", require_compatible=True)
    assert registry.rollback("glyphs@production").to_version == "glyphs/1"
    actions = [move.action for move in registry.history("glyphs@production")]
    assert actions == ["bootstrap", "index", "promote", "rollback"]
    assert "glyphs/2" in registry.lineage("glyphs").render()
    assert not any(registry.verify().values())


@pytest.mark.parametrize(
    "statement", ["UPDATE alias_moves SET reason = 'x'", "DELETE FROM alias_moves"]
)
def test_history_is_only_added_to(registry, make_model, statement):
    registry.register("glyphs", make_model("a"))
    registry.promote("glyphs/1", "production", require_compatible=True)
    with pytest.raises(sqlalchemy.exc.DatabaseError, match="only added to"):
        with registry.database.writing() as session:
            session.execute(text(statement))


def test_two_writers_get_different_numbers(registry, server, make_model, environment):
    script = (
        "import sys; from registry import Registry\n"
        "from tests.registry.stand_in import take_stand_ins\n"
        "take_stand_ins()\n"
        "registry = Registry(sys.argv[1], database=sys.argv[2])\n"
        "for folder in sys.argv[3:]:\n"
        "    registry.register('glyphs', folder)\n"
    )
    folders = [str(make_model(f"m{n}")) for n in range(8)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, registry.root.url, server, *part],
            env=environment,
        )
        for part in (folders[:4], folders[4:])
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert [v.number for v in registry.versions("glyphs")] == list(range(1, 9))
