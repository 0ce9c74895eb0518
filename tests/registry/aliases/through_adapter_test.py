"""What evidence through an adapter lets through, and what it does not."""

import signal
import subprocess
import sys

import pytest

from registry import GateRefusedError


def ask(registry, version, **terms):
    return registry.promote(version, "production", require_compatible=True, **terms)


def state(registry):
    return registry.alias("glyphs@production"), registry.history("glyphs@production")


class TestPromotion:
    """The rule: evidence has to be about the vectors as the served index holds them."""

    def test_over_rows_as_they_are_stored_is_refused_with_the_way_out(
        self, served, prove
    ):
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        before = state(served)
        with pytest.raises(GateRefusedError) as refused:
            ask(served, "glyphs/2")
        assert "glyphs/2 against glyphs/1: there is no evidence" in str(refused.value)
        assert f"`{served.command} index GALLERY --through glyphs:1`" in str(
            refused.value
        )
        assert state(served) == before

    def test_without_any_index_is_refused(
        self, three, make_adapter, make_evidence, protocol
    ):
        """Nothing says that what is searched went through the adapter."""
        three.add_adapter(make_adapter("ridge"))
        adapter = three.adapter("glyphs:1").fingerprint
        three.add_evidence(
            make_evidence("glyphs/2", "glyphs/1", adapter_fingerprint=adapter)
        )
        with pytest.raises(GateRefusedError, match="no evidence"):
            ask(three, "glyphs/2")

    def test_with_an_index_of_mapped_rows_moves_both_in_one_row(self, served, prove):
        evidence = prove("glyphs/2", "glyphs/1", "glyphs:1")
        index = served.build_index("kanji", through=["glyphs:1"])
        move = ask(served, "glyphs/2", index=index.name)
        assert (move.to_version, move.from_index, move.to_index) == (
            "glyphs/2",
            "glyphs#1",
            "glyphs#2",
        )
        assert move.evidence_ids == (evidence.id,)
        assert served.alias("glyphs@production").index == index

    def test_with_an_index_of_mapped_rows_needs_evidence_through_that_adapter(
        self, served, prove, make_adapter, protocol
    ):
        served.add_adapter(make_adapter("other", seed=1))
        index = served.build_index("kanji", through=["glyphs:1"])
        prove("glyphs/2", "glyphs/1")
        prove("glyphs/2", "glyphs/1", "glyphs:2")
        before = state(served)
        with pytest.raises(GateRefusedError) as refused:
            ask(served, "glyphs/2", index=index.name)
        assert "glyphs/2 against glyphs/1 through glyphs:1: there is no evidence" in (
            str(refused.value)
        )
        assert (
            f"evaluate glyphs/2 --against glyphs/1 --through glyphs:1 "
            f"--protocol {protocol}"
        ) in str(refused.value)
        assert state(served) == before

    def test_of_the_version_that_made_the_rows_asks_for_them_as_they_are_stored(
        self, served
    ):
        """No evidence could be measured that would let it through."""
        index = served.build_index("kanji", through=["glyphs:1"])
        with pytest.raises(GateRefusedError) as refused:
            ask(served, "glyphs/1", index=index.name)
        (reason,) = refused.value.reasons
        assert "made vectors that the index holds through glyphs:1" in reason
        assert f"`{served.command} index GALLERY`" in reason
        assert "evaluate" not in reason

    def test_asks_the_newest_evidence_of_that_way(self, served, prove):
        index = served.build_index("kanji", through=["glyphs:1"])
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        prove("glyphs/2", "glyphs/1", "glyphs:1", difference=-0.1)
        with pytest.raises(GateRefusedError, match="evidence 2"):
            ask(served, "glyphs/2", index=index.name)

    def test_holds_for_what_was_compared(self, served, prove):
        index = served.build_index("kanji", through=["glyphs:1"], first_components=16)
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        with pytest.raises(GateRefusedError, match=r"is proven for cosine over 64"):
            ask(served, "glyphs/2", index=index.name)

    def test_asks_for_more_as_it_does_without(self, served, prove):
        index = served.build_index("kanji", through=["glyphs:1"])
        prove("glyphs/2", "glyphs/1", "glyphs:1", gain=0.3)
        with pytest.raises(GateRefusedError, match="gain"):
            ask(served, "glyphs/2", index=index.name, min_gain=0.5)
        assert ask(served, "glyphs/2", index=index.name, min_gain=0.2)

    def test_is_not_composed(self, served, prove):
        """2 -> 1 through the adapter and 3 -> 2 make none 3 -> 1 through it."""
        index = served.build_index("kanji", through=["glyphs:1"])
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        ask(served, "glyphs/2", index=index.name)
        prove("glyphs/3", "glyphs/2")
        with pytest.raises(GateRefusedError, match="glyphs/3 against glyphs/1 through"):
            ask(served, "glyphs/3")
        prove("glyphs/3", "glyphs/1", "glyphs:1")
        assert ask(served, "glyphs/3").to_index == index.name

    def test_counts_either_way_for_rows_that_the_next_index_will_hold(
        self, served, prove, make_adapter, fill_gallery
    ):
        prove("glyphs/2", "glyphs/1")
        ask(served, "glyphs/2")
        fill_gallery("kanji", "glyphs/2", rows=7, start=100)
        served.add_adapter(make_adapter("from 2 to 3", "glyphs/3", "glyphs/2"))
        prove("glyphs/3", "glyphs/1")
        with pytest.raises(GateRefusedError, match="glyphs/3 against glyphs/2"):
            ask(served, "glyphs/3")
        prove("glyphs/3", "glyphs/2", "glyphs:2")
        assert ask(served, "glyphs/3").to_index == "glyphs#1"

    def test_killed_before_it_is_written_changes_nothing(
        self, served, prove, environment
    ):
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        served.build_index("kanji", through=["glyphs:1"])
        before = state(served)
        script = (
            "import os, signal, sys\n"
            "from sqlalchemy.orm import Session\n"
            "from registry import Registry\n"
            "merge = Session.merge\n"
            "def die(self, row):\n"
            "    merge(self, row), self.flush()\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "Session.merge = die\n"
            "Registry(sys.argv[1]).promote('glyphs/2', 'production', "
            "require_compatible=True, index='glyphs#2')\n"
        )
        died = subprocess.run(
            [sys.executable, "-c", script, served.root.url], env=environment
        )
        assert died.returncode == -signal.SIGKILL
        assert state(served) == before
        assert ask(served, "glyphs/2", index="glyphs#2")


@pytest.fixture
def mapped(served, prove):
    """`production` stands at glyphs/2 and serves mapped rows of glyphs/1."""
    prove("glyphs/2", "glyphs/1", "glyphs:1")
    index = served.build_index("kanji", through=["glyphs:1"])
    ask(served, "glyphs/2", index=index.name)
    return served


class TestServing:
    def test_mapped_rows_are_not_for_the_version_that_made_them(self, served):
        index = served.build_index("kanji", through=["glyphs:1"])
        before = state(served)
        with pytest.raises(GateRefusedError) as refused:
            served.serve_index("glyphs@production", index.name)
        assert (
            "20 vectors of glyphs/1 through glyphs:1, and there is no compatibility "
            "edge glyphs/1 -> glyphs/1 through glyphs:1"
        ) in str(refused.value)
        assert state(served) == before

    def test_rows_as_they_are_stored_are_not_for_the_version_of_the_adapter(
        self, mapped
    ):
        with pytest.raises(GateRefusedError) as refused:
            mapped.serve_index("glyphs@production", "glyphs#1")
        assert (
            "20 vectors of glyphs/1, and there is no compatibility edge glyphs/2 -> "
            "glyphs/1, only one for its vectors through glyphs:1"
        ) in str(refused.value)

    def test_a_search_that_was_forced_over_them_is_refused(self, served, prove):
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        served.promote("glyphs/2", "production", force=True, reason="in a hurry")
        with pytest.raises(GateRefusedError, match=r"only one for .* through glyphs:1"):
            served.search("glyphs@production", [b"a picture"])

    def test_an_index_published_again_keeps_its_adapters(self, mapped, fill_gallery):
        fill_gallery("kanji", "glyphs/2", rows=5, start=100)
        index = mapped.publish_index("kanji", "glyphs", "production")
        one, two = (mapped.version(f"glyphs/{n}").fingerprint for n in (1, 2))
        assert index.fingerprints == {one: 20, two: 5}
        assert index.adapters == {one: mapped.adapter("glyphs:1").fingerprint}
        assert mapped.alias("glyphs@production").index == index

    def test_another_adapter_takes_the_place_of_the_one_before(
        self, mapped, prove, make_adapter
    ):
        mapped.add_adapter(make_adapter("better", seed=1))
        with pytest.raises(GateRefusedError, match="through glyphs:2, and there is no"):
            mapped.publish_index("kanji", "glyphs", "production", through=["glyphs:2"])
        prove("glyphs/2", "glyphs/1", "glyphs:2")
        index = mapped.publish_index(
            "kanji", "glyphs", "production", through=["glyphs:2"]
        )
        assert list(index.adapters.values()) == [mapped.adapter("glyphs:2").fingerprint]


class TestRollback:
    def test_goes_back_to_the_old_version_and_its_rows_together(self, mapped):
        move = mapped.rollback("glyphs@production", reason="complaints")
        assert (move.to_version, move.to_index) == ("glyphs/1", "glyphs#1")
        alias = mapped.alias("glyphs@production")
        assert (alias.version.name, alias.index.adapters) == ("glyphs/1", {})

    def test_is_held_up_by_rows_of_the_new_version(self, mapped, fill_gallery):
        fill_gallery("kanji", "glyphs/2", rows=5, start=100)
        before = state(mapped)
        with pytest.raises(GateRefusedError, match="the gallery kanji has 5 vectors"):
            mapped.rollback("glyphs@production")
        assert state(mapped) == before

    def test_is_let_through_by_proof_through_an_adapter(
        self, mapped, fill_gallery, make_adapter, prove
    ):
        """An index may hold a gallery's rows in any way that is proven."""
        fill_gallery("kanji", "glyphs/2", rows=5, start=100)
        back = make_adapter("back", new="glyphs/1", old="glyphs/2")
        prove("glyphs/1", "glyphs/2", str(mapped.add_adapter(back)))
        assert mapped.rollback("glyphs@production").to_version == "glyphs/1"


def test_the_lineage_shows_both_kinds_of_edge(mapped, prove):
    prove("glyphs/3", "glyphs/1")
    prove("glyphs/3", "glyphs/1", "glyphs:1", difference=-0.7)
    lines = mapped.lineage("glyphs").render().splitlines()
    numbers = "M(new,old) 0.8500, M(old,old) 0.8000, difference [+0.0461, +0.0539]"
    bad = "M(new,old) 0.1000, M(old,old) 0.8000, difference [-0.7039, -0.6961]"
    assert [line for line in lines if not line.startswith("glyphs/")] == [
        "   ✓ edge to glyphs/1 through adapter glyphs:1 (kanji, evidence 1)",
        f"       retrieval/mAP: {numbers}",
        "   ✓ direct edge to glyphs/1 (kanji, evidence 2)",
        f"       retrieval/mAP: {numbers}",
        "   ✗ no edge to glyphs/1 through glyphs:1: the gate answered no (kanji, "
        "evidence 3)",
        f"       retrieval/mAP: {bad}",
        "glyphs@production -> glyphs/2, glyphs#2 (20 vectors of glyphs/1 through "
        "glyphs:1)",
    ]
