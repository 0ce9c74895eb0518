import shlex
import shutil
from pathlib import Path

import pytest

from registry import GateRefusedError, IntegrityError, UsageError
from registry.cli.main import build_parser, main
from registry.errors import RegistryError


def ask(registry, version, **terms):
    return registry.promote(version, "production", require_compatible=True, **terms)


def state(registry):
    return (
        registry.alias("glyphs@production"),
        registry.history("glyphs@production"),
        registry.edges(),
    )


class TestRollback:
    def test_version_and_protocol_go_back(self, three, make_evidence, protocol):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        move = three.rollback("glyphs@production", reason="complaints")
        assert (move.action, move.to_version, move.undoes) == (
            "rollback",
            "glyphs/1",
            2,
        )
        alias = three.alias("glyphs@production")
        assert (alias.version.name, alias.protocol) == ("glyphs/1", str(protocol))

    def test_twice_goes_back_twice(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        three.add_evidence(make_evidence("glyphs/3", "glyphs/2"))
        ask(three, "glyphs/2")
        ask(three, "glyphs/3")
        three.rollback("glyphs@production")
        assert three.rollback("glyphs@production").to_version == "glyphs/1"
        with pytest.raises(RegistryError, match="no move to undo"):
            three.rollback("glyphs@production")

    def test_forward_again_after_going_back(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        three.rollback("glyphs@production")
        ask(three, "glyphs/2")
        assert three.rollback("glyphs@production").to_version == "glyphs/1"

    def test_the_index_goes_back_too(self, three, make_evidence, fill_gallery):
        fill_gallery("kanji", "glyphs/1")
        first = three.publish_index("kanji", "glyphs", "production")
        second = three.build_index("kanji", "glyphs")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2", index=second.name)
        three.rollback("glyphs@production")
        alias = three.alias("glyphs@production")
        assert (alias.version.name, alias.index.name) == ("glyphs/1", first.name)

    def test_vectors_added_since_hold_it_up(self, three, make_evidence, fill_gallery):
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        fill_gallery("kanji", "glyphs/2", rows=7, start=100)
        before = state(three)
        with pytest.raises(GateRefusedError) as refused:
            three.rollback("glyphs@production")
        (reason,) = refused.value.reasons
        assert "the gallery kanji has 7 vectors of glyphs/2" in reason
        assert "no compatibility edge glyphs/1 -> glyphs/2" in reason
        assert state(three) == before

    def test_vectors_in_an_index_published_since_hold_it_up(
        self, three, make_evidence, fill_gallery
    ):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        fill_gallery("kanji", "glyphs/1")
        fill_gallery("kanji", "glyphs/2", start=100)
        index = three.build_index("kanji", "glyphs")
        ask(three, "glyphs/2", index=index.name)
        with pytest.raises(GateRefusedError, match=r"the served index glyphs#1"):
            three.rollback("glyphs@production")

    def test_an_edge_the_other_way_lets_it_through(
        self, three, make_evidence, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/1")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        fill_gallery("kanji", "glyphs/2", start=100)
        three.add_evidence(make_evidence("glyphs/1", "glyphs/2"))
        assert three.rollback("glyphs@production").to_version == "glyphs/1"

    def test_in_an_emergency_it_can_be_forced(self, three, make_evidence, fill_gallery):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        fill_gallery("kanji", "glyphs/2")
        with pytest.raises(UsageError, match="--reason"):
            three.rollback("glyphs@production", force=True)
        move = three.rollback("glyphs@production", force=True, reason="outage")
        assert (move.to_version, move.reason) == ("glyphs/1", "outage")

    @pytest.mark.parametrize("terms", [{}, {"force": True, "reason": "in a hurry"}])
    def test_a_damaged_version_is_not_gone_back_to(self, three, make_evidence, terms):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        Path(three.version("glyphs/1").location, "saved_model.pb").unlink()
        before = state(three)
        with pytest.raises(IntegrityError, match=r"saved_model\.pb: missing"):
            three.rollback("glyphs@production", **terms)
        assert state(three) == before

    def test_a_move_meanwhile_is_undone_in_its_place(self, three, monkeypatch):
        three.promote("glyphs/2", "production", force=True, reason="a test")
        verify = type(three)._verify

        def slow(self, version):
            monkeypatch.setattr(type(three), "_verify", verify)
            three.promote("glyphs/3", "production", force=True, reason="meanwhile")
            verify(self, version)

        monkeypatch.setattr(type(three), "_verify", slow)
        assert three.rollback("glyphs@production").to_version == "glyphs/2"

    def test_the_first_move_is_not_undone(self, three):
        with pytest.raises(RegistryError, match="from the start"):
            three.rollback("glyphs@production")


class TestALostGallery:
    @pytest.fixture
    def lost(self, three, make_evidence, fill_gallery):
        """glyphs/2 serves an index of its own, and the gallery's folder is gone."""
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        other = three.build_index("kanji")
        ask(three, "glyphs/2", index=other.name)
        shutil.rmtree(three.galleries_folder / "kanji")
        return three

    def test_is_a_reason_against_going_back(self, lost):
        with pytest.raises(GateRefusedError, match="There is no gallery in") as refused:
            lost.rollback("glyphs@production")
        assert "Put it back from a copy" in refused.value.reasons[0]

    def test_does_not_shut_the_way_of_who_forces_it(self, lost):
        move = lost.rollback("glyphs@production", force=True, reason="outage")
        assert (move.to_version, move.to_index) == ("glyphs/1", "glyphs#1")

    def test_is_a_reason_against_serving_its_index_anew(self, lost):
        lost.promote("glyphs/1", "canary", force=True, reason="a test")
        with pytest.raises(GateRefusedError, match="Put the gallery kanji back"):
            lost.serve_index("glyphs@canary", "glyphs#1")


class TestToAVersion:
    @pytest.fixture
    def moved(self, three, make_evidence, fill_gallery):
        """glyphs/1 served glyphs#1; glyphs/2 came, and then an index of its own."""
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        three.publish_index("kanji", "glyphs", "production")
        return three

    def test_one_command_goes_back_over_the_move_of_an_index(self, moved):
        move = moved.rollback("glyphs@production", to="glyphs/1")
        assert (move.to_version, move.to_index, move.undoes) == (
            "glyphs/1",
            "glyphs#1",
            3,
        )

    def test_it_is_said_beforehand(self, moved):
        before = state(moved)
        plan = moved.plan_rollback("glyphs@production", to="glyphs/1")
        assert (plan.from_version, plan.to_version) == ("glyphs/2", "glyphs/1")
        assert (plan.from_index, plan.to_index) == ("glyphs#2", "glyphs#1")
        assert (plan.undoes, plan.in_the_way) == ((3, 4), ())
        assert state(moved) == before

    def test_without_it_the_last_move_is_undone_and_the_plan_says_what_it_was(
        self, moved
    ):
        plan = moved.plan_rollback("glyphs@production")
        assert (plan.from_version, plan.to_version) == ("glyphs/2", "glyphs/2")
        assert "the version stays" in str(plan)
        assert "--to VERSION" in str(plan)
        moved.rollback("glyphs@production")
        assert moved.rollback("glyphs@production").to_version == "glyphs/1"

    def test_what_it_undid_is_not_undone_again(self, moved, make_evidence):
        moved.rollback("glyphs@production", to="glyphs/1")
        ask(moved, "glyphs/2")
        assert moved.plan_rollback("glyphs@production").undoes == (6,)
        moved.rollback("glyphs@production")
        # The move of the index to glyphs#1 is what is left of the history.
        assert moved.plan_rollback("glyphs@production").undoes == (2,)

    @pytest.mark.parametrize(
        ("version", "message"),
        [
            ("glyphs/3", "the versions that it has come from are glyphs/1"),
            ("glyphs/2", "stands at glyphs/2 already"),
            ("other/1", "Expected a version of glyphs"),
        ],
    )
    def test_a_version_that_it_did_not_come_from_is_refused(
        self, moved, version, message
    ):
        with pytest.raises(UsageError, match=message):
            moved.rollback("glyphs@production", to=version)


class TestWhatIsLeftUnreachable:
    @pytest.fixture
    def grown(self, three, make_evidence, fill_gallery):
        """Under glyphs/2 seven rows came, which glyphs/1 may not search."""
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        fill_gallery("kanji", "glyphs/2", rows=7, start=100)
        three.publish_index("kanji", "glyphs", "production")
        return three

    def commands(self, reason):
        lines = [line.strip() for line in reason.splitlines()]
        return [shlex.split(line)[1:] for line in lines if line.startswith("registry")]

    def test_the_refusal_names_the_ways_out(self, grown, protocol):
        with pytest.raises(GateRefusedError) as refused:
            grown.rollback("glyphs@production", to="glyphs/1")
        for reason in refused.value.reasons:
            measure, index = self.commands(reason)
            assert measure[2:] == [
                *["evaluate", "glyphs/1", "--against", "glyphs/2"],
                *["--protocol", str(protocol)],
            ]
            assert index[2:] == [
                *["index", "kanji", "--serve", "glyphs@production"],
                *["--leave-out", "glyphs/2"],
            ]
            assert "--force --reason TEXT, which leaves them unreachable" in reason

    def test_after_forcing_it_the_others_are_indexed_as_it_says(self, grown, capsys):
        root = ["--root", grown.root.url]
        argv = ["rollback", "glyphs@production", "--to", "glyphs/1", "--force"]
        argv += ["--reason", "outage"]
        assert main(build_parser().parse_args([*root, *argv])) == 0
        said = capsys.readouterr().out
        assert said.startswith(
            "glyphs@production: glyphs/2 -> glyphs/1 (undoes moves 3, 4)\n"
            "  index: glyphs#2 -> glyphs#1\n"
        )
        assert "the gallery kanji has 7 vectors of glyphs/2" in said
        with pytest.raises(GateRefusedError, match="7 vectors of glyphs/2") as refused:
            grown.publish_index("kanji", "glyphs", "production")
        (reason,) = refused.value.reasons
        _, index = self.commands(reason)
        assert main(build_parser().parse_args(index)) == 0
        assert "20 rows of kanji without those of glyphs/2" in capsys.readouterr().out
        served = grown.alias("glyphs@production").index
        assert served.fingerprints == {grown.version("glyphs/1").fingerprint: 20}

    def test_a_dry_run_says_it_and_changes_nothing(self, grown, capsys):
        before = state(grown)
        argv = ["--root", grown.root.url, "rollback", "glyphs@production", "--dry-run"]
        assert main(build_parser().parse_args([*argv, "--to", "glyphs/1"])) == 3
        assert "not without --force" in capsys.readouterr().out
        assert main(build_parser().parse_args(argv)) == 0
        assert "the version stays" in capsys.readouterr().out
        assert state(grown) == before

    def test_only_versions_with_rows_are_left_out(self, grown):
        with pytest.raises(UsageError, match="--leave-out"):
            grown.build_index("kanji", leave_out=["glyphs/3"])

    def test_leaving_all_out_leaves_nothing_to_index(self, grown):
        with pytest.raises(UsageError, match="no rows to index"):
            grown.build_index("kanji", leave_out=["glyphs/1", "glyphs/2"])
