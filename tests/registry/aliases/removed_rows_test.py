"""Rows that were removed are not served again by an index of before."""

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from registry import GateRefusedError
from registry.cli.main import build_parser, main

REMOVED = [f"row-{n}" for n in range(3)]


def rows_served(registry):
    index = registry.alias("glyphs@production").index
    with pa.memory_map(str(Path(index.location, "rows.arrow"))) as source:
        return set(pa.ipc.open_file(source).read_all().column("id").to_pylist())


def ask(registry, version, **terms):
    return registry.promote(version, "production", require_compatible=True, **terms)


@pytest.fixture
def mapped(served, prove):
    """`production` went from glyphs/1 and its rows to glyphs/2 and them mapped."""
    prove("glyphs/2", "glyphs/1", "glyphs:1")
    served.build_index("kanji", through=["glyphs:1"])
    ask(served, "glyphs/2", index="glyphs#2")
    return served


@pytest.fixture
def forgotten(mapped):
    """Then three rows were removed, and `glyphs#3` is served without them."""
    mapped.remove_rows("kanji", REMOVED)
    mapped.publish_index("kanji", "glyphs", "production")
    return mapped


@pytest.fixture
def refused(forgotten):
    """Does something that has to exit with 3 and move nothing; gives the reason."""

    def refused(act):
        before = forgotten.history("glyphs@production")
        with pytest.raises(GateRefusedError, match="nothing was changed") as error:
            act()
        assert forgotten.history("glyphs@production") == before
        assert rows_served(forgotten).isdisjoint(REMOVED)
        (reason,) = error.value.reasons
        return reason

    return refused


class TestRollback:
    def test_does_not_bring_them_back(self, forgotten, refused):
        reason = refused(lambda: forgotten.rollback("glyphs@production"))
        assert (
            "the index glyphs#2 is of generation 1 of the gallery kanji, from which "
            "rows were removed since (generation 2)"
        ) in reason

    def test_goes_on_with_an_index_that_its_refusal_says_how_to_build(
        self, forgotten, refused
    ):
        reason = refused(lambda: forgotten.rollback("glyphs@production"))
        command = shlex.split(reason.splitlines()[-1])
        assert command[:3] == ["registry", "--root", forgotten.root.url]
        assert main(build_parser().parse_args(command[1:])) == 0
        built = forgotten.index("glyphs#4")
        before = forgotten.index("glyphs#2")
        for name in ("gallery", "adapters", "first_components", "distance"):
            assert getattr(built, name) == getattr(before, name)
        move = forgotten.rollback("glyphs@production", index="glyphs#4")
        assert (move.action, move.undoes) == ("rollback", 4)
        assert (move.to_version, move.to_index) == ("glyphs/2", "glyphs#4")
        assert rows_served(forgotten).isdisjoint(REMOVED)

    def test_goes_back_to_the_old_version_over_the_rows_that_are_left(
        self, forgotten, refused
    ):
        forgotten.rollback("glyphs@production", index="glyphs#3")
        reason = refused(lambda: forgotten.rollback("glyphs@production"))
        assert "the index glyphs#1 is of generation 1" in reason
        index = forgotten.build_index("kanji")
        move = forgotten.rollback("glyphs@production", index=index.name)
        assert (move.to_version, move.to_index) == ("glyphs/1", "glyphs#4")
        assert rows_served(forgotten) == {f"row-{n}" for n in range(3, 20)}

    def test_takes_no_other_index_that_holds_them(self, forgotten, refused):
        old = forgotten.index("glyphs#1").name
        forgotten.rollback("glyphs@production", index="glyphs#3")
        assert "glyphs#1 is of generation 1" in refused(
            lambda: forgotten.rollback("glyphs@production", index=old)
        )

    def test_takes_no_index_that_the_earlier_version_cannot_search(
        self, forgotten, refused
    ):
        forgotten.rollback("glyphs@production", index="glyphs#3")
        assert "no compatibility edge glyphs/1 -> glyphs/1 through glyphs:1" in refused(
            lambda: forgotten.rollback("glyphs@production", index="glyphs#3")
        )

    def test_can_be_forced_with_a_reason(self, forgotten):
        move = forgotten.rollback("glyphs@production", force=True, reason="outage")
        assert move.to_index == "glyphs#2"


class TestOtherMoves:
    def test_a_promotion_does_not_bring_them_back(self, forgotten, refused):
        reason = refused(lambda: ask(forgotten, "glyphs/2", index="glyphs#2"))
        assert "the index glyphs#2 is of generation 1" in reason

    def test_a_promotion_of_a_new_alias_does_not_serve_them(self, forgotten):
        with pytest.raises(GateRefusedError, match="rows were removed since"):
            forgotten.promote(
                "glyphs/1", "staging", require_compatible=True, index="glyphs#1"
            )

    def test_an_index_that_is_named_for_an_alias_does_not(self, forgotten, refused):
        reason = refused(lambda: forgotten.serve_index("glyphs@production", "glyphs#2"))
        assert "the index glyphs#2 is of generation 1" in reason

    def test_nor_in_place_of_an_index_of_another_gallery(
        self, forgotten, fill_gallery, refused
    ):
        fill_gallery("kana", "glyphs/2", start=100)
        forgotten.publish_index("kana", "glyphs", "production")
        reason = refused(lambda: forgotten.serve_index("glyphs@production", "glyphs#2"))
        assert "of the gallery kanji" in reason

    def test_a_forced_promotion_does_as_it_is_told(self, forgotten):
        move = forgotten.promote(
            "glyphs/2", "production", index="glyphs#2", force=True, reason="outage"
        )
        assert move.to_index == "glyphs#2"


class TestWhatBringsNothingBack:
    def test_an_index_of_the_generation_that_is_served(self, mapped):
        """Until it is published anew the served index holds these rows, too."""
        mapped.remove_rows("kanji", REMOVED)
        assert mapped.rollback("glyphs@production").to_index == "glyphs#1"

    def test_a_version_that_moves_over_the_same_index(self, mapped, prove):
        prove("glyphs/3", "glyphs/1", "glyphs:1")
        prove("glyphs/3", "glyphs/2")
        mapped.remove_rows("kanji", REMOVED)
        assert ask(mapped, "glyphs/3").to_index == "glyphs#2"
        assert mapped.rollback("glyphs@production").to_index == "glyphs#2"

    def test_an_index_of_before_rows_were_only_added(self, mapped, fill_gallery):
        fill_gallery("kanji", "glyphs/1", rows=5, start=100)
        mapped.publish_index("kanji", "glyphs", "production")
        assert mapped.rollback("glyphs@production").to_index == "glyphs#2"

    def test_an_index_of_after_they_were_removed(self, forgotten, fill_gallery):
        fill_gallery("kanji", "glyphs/1", rows=5, start=100)
        forgotten.publish_index("kanji", "glyphs", "production")
        assert forgotten.rollback("glyphs@production").to_index == "glyphs#3"


def test_rows_that_one_removal_took_from_the_served_index_stay_away_after_another(
    forgotten, refused
):
    """The served index holds the rows of the second removal, not of the first."""
    forgotten.remove_rows("kanji", ["row-9"])
    reason = refused(lambda: forgotten.rollback("glyphs@production"))
    assert re.search(r"generation 1 .*\(generation 3\)", reason)
