import itertools
import subprocess
import sys

import pytest
import sqlalchemy
from sqlalchemy import text


class TestHistory:
    @pytest.mark.parametrize(
        "statement",
        ["UPDATE alias_moves SET reason = 'x'", "DELETE FROM alias_moves"],
    )
    def test_is_only_added_to(self, three, statement):
        with pytest.raises(sqlalchemy.exc.DatabaseError, match="only added to"):
            with three.database.writing() as session:
                session.execute(text(statement))
        assert len(three.history("glyphs@production")) == 1


def test_two_that_promote_at_once_leave_an_unbroken_history(three, environment):
    script = (
        "import sys; from registry import Registry\n"
        "registry = Registry(sys.argv[1])\n"
        "for turn in range(8):\n"
        "    version = sys.argv[2 + turn % 2]\n"
        "    registry.promote(version, 'production', force=True, reason='a test')\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, three.root.url, *pair], env=environment
        )
        for pair in (("glyphs/2", "glyphs/1"), ("glyphs/3", "glyphs/1"))
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    moves = three.history("glyphs@production")
    assert {move.to_version for move in moves} == {"glyphs/1", "glyphs/2", "glyphs/3"}
    for before, after in itertools.pairwise(moves):
        assert after.from_version == before.to_version
    assert three.resolve("glyphs@production").name == moves[-1].to_version


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no name")])
def test_a_user_without_name_is_kept_by_number(
    registry, make_model, monkeypatch, error
):
    """As in a container that runs under a number of the cluster's choice."""

    def refuse(number):
        raise error

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", refuse)
    monkeypatch.setattr("os.getuid", lambda: 1000680000)
    registry.register("glyphs", make_model("a"))
    move = registry.promote("glyphs/1", "production", require_compatible=True)
    assert move.moved_by.startswith("uid 1000680000@")
