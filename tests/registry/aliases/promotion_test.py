from pathlib import Path

import pytest

from registry import GateRefusedError, IntegrityError, UsageError
from registry.errors import NotFoundError


def ask(registry, version, **terms):
    return registry.promote(version, "production", require_compatible=True, **terms)


def state(registry):
    return (
        registry.alias("glyphs@production"),
        registry.history("glyphs@production"),
        registry.edges(),
    )


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

    def test_an_index_compares_what_the_protocol_of_its_alias_says(
        self, three, protocol, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/1")
        index = three.publish_index("kanji", "glyphs", "production")
        assert index.first_components == 64
        protocol.write_text(protocol.read_text() + "first_components: 32\n")
        index = three.publish_index("kanji", "glyphs", "production")
        assert index.first_components == 32
        index = three.publish_index(
            "kanji", "glyphs", "production", first_components=16
        )
        assert index.first_components == 16

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
        with pytest.raises(UsageError, match="Alias names"):
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


@pytest.fixture
def meanwhile(monkeypatch):
    """Does something when the gate has judged and the alias has not moved yet."""
    from registry.aliases import promotion

    judge = promotion.judge

    def meanwhile(act):
        def slow(*args):
            answer = judge(*args)
            monkeypatch.setattr(promotion, "judge", judge)
            act()
            return answer

        monkeypatch.setattr(promotion, "judge", slow)

    return meanwhile


def test_a_move_meanwhile_is_judged_again(three, make_evidence, meanwhile):
    """The gate passed against glyphs/1, but by then production stood at glyphs/3."""
    three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    meanwhile(
        lambda: three.promote("glyphs/3", "production", force=True, reason="meanwhile")
    )
    with pytest.raises(GateRefusedError, match="glyphs/2 against glyphs/3"):
        ask(three, "glyphs/2")
    assert three.resolve("glyphs@production").name == "glyphs/3"


def test_evidence_that_comes_meanwhile_is_judged_too(three, make_evidence, meanwhile):
    three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    worse = make_evidence("glyphs/2", "glyphs/1", -0.1)
    meanwhile(lambda: three.add_evidence(worse))
    with pytest.raises(GateRefusedError, match="evidence 2"):
        ask(three, "glyphs/2")
    assert three.resolve("glyphs@production").name == "glyphs/1"


def test_evidence_about_others_holds_no_promotion_up(three, make_evidence, meanwhile):
    three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    other = make_evidence("glyphs/3", "glyphs/1", -0.1)
    meanwhile(lambda: three.add_evidence(other))
    assert ask(three, "glyphs/2").evidence_ids == (1,)


class TestOnlyWhatIsSearched:
    """From then on: what nobody searches any more needs no proof."""

    def test_a_version_that_stored_nothing_is_not_asked_for(
        self, three, fill_gallery, make_evidence
    ):
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        three.promote("glyphs/2", "production", force=True, reason="a mistake")
        three.add_evidence(make_evidence("glyphs/3", "glyphs/1"))
        assert ask(three, "glyphs/3").evidence_ids == (1,)

    def test_nor_are_vectors_of_an_index_that_is_replaced(
        self, three, fill_gallery, make_evidence
    ):
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        fill_gallery("other", "glyphs/2")
        index = three.build_index("other")
        three.add_evidence(make_evidence("glyphs/3", "glyphs/2"))
        assert ask(three, "glyphs/3", index=index.name).to_index == index.name

    def test_rows_that_the_next_index_will_hold_are(
        self, three, fill_gallery, make_evidence
    ):
        fill_gallery("kanji", "glyphs/1")
        three.publish_index("kanji", "glyphs", "production")
        fill_gallery("kanji", "glyphs/2", rows=7, start=100)
        three.add_evidence(make_evidence("glyphs/3", "glyphs/1"))
        with pytest.raises(GateRefusedError, match="glyphs/3 against glyphs/2") as no:
            ask(three, "glyphs/3")
        (reason,) = no.value.reasons
        assert "does not hold 7 of glyphs/2, which the gallery kanji has got" in reason
        assert "gallery kanji --remove-ids FILE" in reason

    def test_without_an_index_the_refusal_says_how_to_say_what_is_searched(
        self, three, make_evidence
    ):
        three.promote("glyphs/2", "production", force=True, reason="a mistake")
        with pytest.raises(GateRefusedError, match="glyphs/3 against glyphs/2") as no:
            ask(three, "glyphs/3")
        (reason,) = no.value.reasons
        assert "Where it stored none, say what is: build an index" in reason
        three.rollback("glyphs@production", to="glyphs/1")
        three.add_evidence(make_evidence("glyphs/3", "glyphs/1"))
        assert ask(three, "glyphs/3").to_version == "glyphs/3"
