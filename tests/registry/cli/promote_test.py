"""`registry promote --protocol`, as a user meets it."""

import pytest


class TestAnotherProtocol:
    """In place of the alias's own: history keeps what each move was judged by."""

    @pytest.fixture
    def laxer(self, protocol):
        path = protocol.with_name("laxer.yaml")
        path.write_text(protocol.read_text() + "gate: {confidence: 0.5}\n")
        return path

    def test_is_said_when_a_version_is_promoted_by_it(
        self, run, promoted, make_evidence, protocol, laxer
    ):
        from keras_bct.evaluation import Protocol

        own, other = (Protocol.from_yaml(path).digest() for path in (protocol, laxer))
        promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1", path=laxer))
        argv = ["promote", "glyphs/2", "--to", "production", "--require-compatible"]
        moved = run(*argv, "--protocol", laxer)
        said = (
            f"move 2 is by {laxer} ({other[:12]}), not by {protocol} ({own[:12]}) as "
            "the alias before"
        )
        assert said in moved.out
        assert said in run("show", "glyphs@production").out
        first, second = run("show", "glyphs@production", "--json").json["history"]
        assert first["protocol_digest"] == own
        assert second["protocol_digest"] == other
        assert second["from_protocol_digest"] == own

    def test_goes_back_with_the_version(
        self, run, promoted, make_evidence, protocol, laxer
    ):
        promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1", path=laxer))
        argv = ["promote", "glyphs/2", "--to", "production", "--require-compatible"]
        run(*argv, "--protocol", laxer)
        laxer.unlink()
        run("rollback", "glyphs@production")
        first, _, last = promoted.history("glyphs@production")
        assert last.protocol == str(protocol)
        assert last.protocol_digest == first.protocol_digest
        assert last.protocol_change.startswith(f"move 3 is by {protocol}")

    def test_is_found_by_its_content_too(self, run, promoted, make_evidence, protocol):
        """The same file, edited since the last move."""
        protocol.write_text(protocol.read_text() + "gate: {confidence: 0.5}\n")
        promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        argv = ["promote", "glyphs/2", "--to", "production", "--require-compatible"]
        assert "move 2 is by" in run(*argv).out

    def test_is_not_said_of_a_comment(self, run, promoted, make_evidence, protocol):
        promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        protocol.write_text(protocol.read_text() + "# a comment\n")
        argv = ["promote", "glyphs/2", "--to", "production", "--require-compatible"]
        assert "move 2 is by" not in run(*argv).out
