import pytest

from registry import GateRefusedError, UsageError


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
