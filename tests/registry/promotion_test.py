import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import text

from registry import GateRefusedError, IntegrityError, UsageError
from registry.errors import NotFoundError, RegistryError


@pytest.fixture
def three(registry, make_model, protocol):
    """Three versions; `production` stands at the first."""
    for name in "abc":
        registry.register("glyphs", make_model(name))
    registry.promote(
        "glyphs/1", "production", require_compatible=True, protocol=protocol
    )
    return registry


def ask(registry, version, **terms):
    return registry.promote(version, "production", require_compatible=True, **terms)


def state(registry):
    return (
        registry.alias("glyphs@production"),
        registry.history("glyphs@production"),
        registry.edges(),
    )


class TestGate:
    def test_the_first_promotion_is_recorded_as_bootstrap(self, three, protocol):
        (move,) = three.history("glyphs@production")
        assert (move.action, move.from_version, move.to_version) == (
            "bootstrap",
            None,
            "glyphs/1",
        )
        assert three.alias("glyphs@production").protocol == str(protocol)

    def test_without_evidence_it_is_refused_with_the_command_to_measure(
        self, three, protocol
    ):
        before = state(three)
        with pytest.raises(GateRefusedError) as refused:
            ask(three, "glyphs/2")
        assert refused.value.exit_code == 3
        (reason,) = refused.value.reasons
        assert "glyphs/2 against glyphs/1: there is no evidence" in reason
        assert (
            f"registry --root {three.root.url} evaluate glyphs/2 --against glyphs/1 "
            f"--protocol {protocol}"
        ) in reason
        assert state(three) == before

    def test_with_evidence_that_passes_it_moves(self, three, make_evidence):
        evidence = three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        move = ask(three, "glyphs/2")
        assert (move.action, move.from_version, move.to_version) == (
            "promote",
            "glyphs/1",
            "glyphs/2",
        )
        assert move.evidence_ids == (evidence.id,)
        assert three.resolve("glyphs@production").name == "glyphs/2"

    def test_evidence_that_says_no_is_refused_with_its_numbers(
        self, three, make_evidence
    ):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.7))
        before = state(three)
        with pytest.raises(GateRefusedError, match=r"M\(new, old\) = 0\.1000"):
            ask(three, "glyphs/2")
        assert state(three) == before

    def test_an_interval_around_zero_is_refused(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=0.001))
        with pytest.raises(GateRefusedError, match="zero lies inside"):
            ask(three, "glyphs/2")

    def test_more_confidence_can_be_asked_without_measuring_again(
        self, three, make_evidence
    ):
        # 95 % lies within +- 0.0039, 99.9 % within +- 0.0081 (logistic quantiles).
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=0.006))
        with pytest.raises(GateRefusedError, match=r"99\.9 % interval"):
            ask(three, "glyphs/2", confidence=0.999)
        assert ask(three, "glyphs/2").action == "promote"

    def test_a_gain_that_is_too_small_is_refused(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", gain=0.3))
        with pytest.raises(GateRefusedError, match="gain"):
            ask(three, "glyphs/2", min_gain=0.5)
        assert ask(three, "glyphs/2", min_gain=0.2).action == "promote"

    def test_asking_for_a_gain_without_paragon_is_refused(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        with pytest.raises(GateRefusedError, match="paragon"):
            ask(three, "glyphs/2", min_gain=0.2)

    def test_the_newest_evidence_counts(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.1))
        with pytest.raises(GateRefusedError, match="evidence 2"):
            ask(three, "glyphs/2")

    def test_edges_are_not_composed(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        three.add_evidence(make_evidence("glyphs/3", "glyphs/2"))
        with pytest.raises(GateRefusedError, match="glyphs/3 against glyphs/1"):
            ask(three, "glyphs/3")


class TestStaleEvidence:
    def test_of_a_protocol_that_was_edited(self, three, make_evidence, protocol):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        protocol.write_text(protocol.read_text() + "distance: l2\n")
        with pytest.raises(GateRefusedError, match="another content"):
            ask(three, "glyphs/2")

    def test_a_comment_in_the_protocol_changes_nothing(
        self, three, make_evidence, protocol
    ):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        protocol.write_text(protocol.read_text() + "# a comment\n")
        assert ask(three, "glyphs/2")

    @pytest.mark.parametrize("side", ["queries", "gallery"])
    def test_of_data_that_changed(self, three, make_evidence, protocol, side):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        protocol.with_name(f"{side}.tfrecord").write_bytes(b"others")
        with pytest.raises(GateRefusedError, match="other data"):
            ask(three, "glyphs/2")

    def test_of_another_pair(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/3", "glyphs/1"))
        three.add_evidence(make_evidence("glyphs/1", "glyphs/2"))
        with pytest.raises(GateRefusedError, match="no evidence"):
            ask(three, "glyphs/2")

    def test_data_that_are_gone_are_named(self, three, make_evidence, protocol):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        protocol.with_name("gallery.tfrecord").unlink()
        with pytest.raises(UsageError, match=r"gallery\.tfrecord"):
            ask(three, "glyphs/2")


class TestServedIndex:
    def test_every_version_in_the_served_index_has_to_pass(
        self, three, make_evidence, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/1")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        ask(three, "glyphs/2")
        fill_gallery("kanji", "glyphs/2", start=100)
        three.publish_index("kanji", "glyphs", "production")

        three.add_evidence(make_evidence("glyphs/3", "glyphs/2"))
        with pytest.raises(GateRefusedError, match="glyphs/3 against glyphs/1"):
            ask(three, "glyphs/3")
        three.add_evidence(make_evidence("glyphs/3", "glyphs/1"))
        assert ask(three, "glyphs/3").action == "promote"

    def test_the_index_stays_when_the_version_moves(
        self, three, make_evidence, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/1")
        index = three.publish_index("kanji", "glyphs", "production")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        move = ask(three, "glyphs/2")
        assert (move.from_index, move.to_index) == (index.name, index.name)
        assert three.alias("glyphs@production").index == index

    def test_version_and_index_move_in_one_row(
        self, three, make_evidence, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/1")
        index = three.build_index("kanji", "glyphs")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        move = ask(three, "glyphs/2", index=index.name)
        assert (move.to_version, move.to_index) == ("glyphs/2", index.name)
        assert len(three.history("glyphs@production")) == 2

    def test_an_index_to_come_counts_as_the_served_one_does(
        self, three, make_evidence, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/3")
        index = three.build_index("kanji", "glyphs")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        with pytest.raises(GateRefusedError, match="glyphs/2 against glyphs/3"):
            ask(three, "glyphs/2", index=index.name)

    def test_an_index_without_edge_is_not_published(self, three, fill_gallery):
        fill_gallery("kanji", "glyphs/3")
        with pytest.raises(GateRefusedError, match="glyphs/1 -> glyphs/3"):
            three.publish_index("kanji", "glyphs", "production")
        assert three.alias("glyphs@production").index is None
        assert three.indices() == []

    @pytest.mark.parametrize("terms", [{"distance": "l2"}, {"first_components": 32}])
    def test_an_edge_holds_only_for_what_was_measured(
        self, three, make_evidence, fill_gallery, terms
    ):
        fill_gallery("kanji", "glyphs/2")
        three.add_evidence(make_evidence("glyphs/1", "glyphs/2"))
        three.serve_index(
            "glyphs@production", three.build_index("kanji", "glyphs").name
        )
        other = three.build_index("kanji", "glyphs", **terms)
        with pytest.raises(GateRefusedError, match="cosine over 64 components, not"):
            three.serve_index("glyphs@production", other.name)

    @pytest.mark.parametrize("come", ["served", "to come"])
    @pytest.mark.parametrize("terms", [{"distance": "l2"}, {"first_components": 32}])
    def test_an_index_of_other_terms_than_the_evidence_holds_a_promotion_up(
        self, three, make_evidence, fill_gallery, terms, come
    ):
        fill_gallery("kanji", "glyphs/1")
        index = three.build_index("kanji", "glyphs", **terms).name
        if come == "served":
            three.serve_index("glyphs@production", index)
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        before = state(three)
        with pytest.raises(GateRefusedError, match="cosine over 64 components, not"):
            ask(three, "glyphs/2", index=None if come == "served" else index)
        assert state(three) == before

    def test_an_edge_that_later_evidence_took_away_holds_it_up(
        self, three, make_evidence, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        on_other_data = make_evidence(
            "glyphs/2", "glyphs/1", -0.1, data_digest="0" * 64
        )
        three.add_evidence(on_other_data)
        with pytest.raises(GateRefusedError, match="no compatibility edge"):
            ask(three, "glyphs/2")

    def test_an_index_that_is_not_there_is_refused(self, three):
        with pytest.raises(NotFoundError, match="glyphs#9"):
            ask(three, "glyphs/1", index="glyphs#9")


class TestTerms:
    def test_without_asking_the_gate_a_reason_is_needed(self, three):
        with pytest.raises(UsageError, match="--require-compatible"):
            three.promote("glyphs/2", "production")
        with pytest.raises(UsageError, match="--reason"):
            three.promote("glyphs/2", "production", force=True)
        with pytest.raises(UsageError, match="--reason"):
            three.promote("glyphs/2", "production", force=True, reason="  ")

    def test_a_forced_promotion_is_recorded_so(self, three):
        move = three.promote(
            "glyphs/2", "production", force=True, reason="index is rebuilt tonight"
        )
        assert (move.action, move.reason) == ("force", "index is rebuilt tonight")
        assert move.evidence_ids == ()
        assert three.edges() == []

    def test_force_and_the_gate_exclude_each_other(self, three):
        with pytest.raises(UsageError, match="not both"):
            ask(three, "glyphs/2", force=True, reason="both")

    def test_less_than_the_protocol_asks_for_is_refused(
        self, three, make_evidence, protocol
    ):
        protocol.write_text(protocol.read_text() + "gate: {min_gain: 0.3}\n")
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", 0.001, gain=0.2))
        with pytest.raises(UsageError, match=r"`confidence`.*0\.95.*0\.5"):
            ask(three, "glyphs/2", confidence=0.5)
        with pytest.raises(UsageError, match=r"`min_gain`.*0\.3.*0\.1"):
            ask(three, "glyphs/2", min_gain=0.1)

    def test_more_confidence_than_the_replicates_tell_is_refused(
        self, three, make_evidence
    ):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        with pytest.raises(GateRefusedError, match=r"it needs 2000000 "):
            ask(three, "glyphs/2", confidence=0.999999)

    @pytest.mark.parametrize("gain", [float("nan"), float("inf")])
    def test_a_gain_that_is_no_number_is_refused(self, three, gain):
        with pytest.raises(UsageError, match="`min_gain` should be finite"):
            ask(three, "glyphs/2", min_gain=gain)

    @pytest.mark.parametrize("confidence", [0, 1, 95])
    def test_a_confidence_outside_0_to_1_is_refused(self, three, confidence):
        with pytest.raises(UsageError, match="between 0 and 1"):
            ask(three, "glyphs/2", confidence=confidence)

    def test_an_unknown_version_is_refused(self, three):
        with pytest.raises(NotFoundError, match="glyphs/1, glyphs/2, glyphs/3"):
            ask(three, "glyphs/9")

    def test_an_unfit_alias_is_refused(self, three):
        with pytest.raises(UsageError, match="alias name"):
            three.promote("glyphs/2", "../x", require_compatible=True)

    def test_a_protocol_with_an_unknown_metric_is_refused(self, three, protocol):
        protocol.write_text(
            protocol.read_text().replace("retrieval/mAP", "retrieval/mAAP")
        )
        with pytest.raises(UsageError, match="retrieval/mAAP"):
            ask(three, "glyphs/2")

    def test_an_alias_without_protocol_asks_for_one(self, registry, make_model):
        for name in "ab":
            registry.register("glyphs", make_model(name))
        ask(registry, "glyphs/1")
        with pytest.raises(UsageError, match="--protocol FILE"):
            ask(registry, "glyphs/2")

    def test_standing_there_already_is_no_move(self, three):
        assert ask(three, "glyphs/1") is None
        assert len(three.history("glyphs@production")) == 1

    def test_standing_there_by_force_does_not_pass_the_gate(self, three, fill_gallery):
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        three.promote("glyphs/2", "production", force=True, reason="in a hurry")
        with pytest.raises(GateRefusedError, match="glyphs/2 against glyphs/1"):
            ask(three, "glyphs/2")


def test_a_tampered_version_is_not_promoted(three, make_evidence):
    three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    file = Path(three.version("glyphs/2").location, "variables", "variables.data")
    file.write_bytes(b"B")
    before = state(three)
    with pytest.raises(
        IntegrityError, match=r"variables\.data: content changed"
    ) as bad:
        ask(three, "glyphs/2")
    assert bad.value.exit_code == 4
    assert state(three) == before


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
        verify = type(three)._verify_version

        def slow(self, version):
            monkeypatch.setattr(type(three), "_verify_version", verify)
            three.promote("glyphs/3", "production", force=True, reason="meanwhile")
            verify(self, version)

        monkeypatch.setattr(type(three), "_verify_version", slow)
        assert three.rollback("glyphs@production").to_version == "glyphs/2"

    def test_the_first_move_is_not_undone(self, three):
        with pytest.raises(RegistryError, match="from the start"):
            three.rollback("glyphs@production")


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


class TestEdges:
    def test_are_written_only_when_the_gate_passes(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.1))
        assert three.edges() == []
        passed = three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        (edge,) = three.edges()
        assert (edge.kind, edge.evidence_id) == ("direct", passed.id)
        assert edge.new_fingerprint == three.version("glyphs/2").fingerprint
        assert edge.old_fingerprint == three.version("glyphs/1").fingerprint

    def test_are_taken_away_by_newer_evidence(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.1))
        assert three.edges() == []


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


def test_a_move_meanwhile_is_judged_again(three, make_evidence, monkeypatch):
    """The gate passed against glyphs/1, but by then production stood at glyphs/3."""
    from registry import promotion

    three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    judge = promotion.judge

    def slow(*args):
        answer = judge(*args)
        monkeypatch.setattr(promotion, "judge", judge)
        three.promote("glyphs/3", "production", force=True, reason="meanwhile")
        return answer

    monkeypatch.setattr(promotion, "judge", slow)
    with pytest.raises(GateRefusedError, match="glyphs/2 against glyphs/3"):
        ask(three, "glyphs/2")
    assert three.resolve("glyphs@production").name == "glyphs/3"
