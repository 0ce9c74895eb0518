"""What an alias will serve is verified before it moves."""

import contextlib
import shutil
from pathlib import Path

import pytest

from registry import GateRefusedError, IntegrityError
from registry.fingerprint import digest_file
from registry.indices import manifest as index_manifest
from registry.metadata.schema import AdapterRow


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def rows_changed(registry, index):
    flip(Path(index.location, "rows.arrow"))


def vectors_gone(registry, index):
    shutil.rmtree(Path(index.location, "scann"))


def a_file_too_many(registry, index):
    Path(index.location, "scann", "evil.pkl").touch()


def index_gone(registry, index):
    shutil.rmtree(index.location)


def adapter_changed(registry, index):
    flip(Path(registry.adapter("glyphs:1").location, "adapter_matrix.npy"))


def adapter_gone(registry, index):
    shutil.rmtree(registry.adapter("glyphs:1").location)


def adapter_not_registered(registry, index):
    with registry.database.writing() as session:
        session.delete(session.query(AdapterRow).one())


DAMAGE = {
    rows_changed: r"glyphs#2(.|\n)*rows\.arrow: content changed",
    vectors_gone: r"glyphs#2(.|\n)*scann/.*: missing",
    a_file_too_many: r"glyphs#2(.|\n)*scann/evil\.pkl: was not registered",
    index_gone: r"glyphs#2(.|\n)*manifest\.json: missing",
    adapter_changed: r"glyphs:1(.|\n)*adapter_matrix\.npy: content changed",
    adapter_gone: r"glyphs:1(.|\n)*manifest\.json: cannot be read",
    adapter_not_registered: r"glyphs#2 went through the adapter .*not registered",
}


@pytest.mark.parametrize(
    ("damage", "said"), DAMAGE.items(), ids=[damage.__name__ for damage in DAMAGE]
)
class TestAnIndexIsNotPutIntoServiceDamaged:
    """Nor with an adapter that is not what its rows went through; nothing moves."""

    @pytest.fixture
    def mapped(self, served, prove):
        """`glyphs#2` holds rows of glyphs/1 mapped for glyphs/2, which is proven."""
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        return served.build_index("kanji", through=["glyphs:1"])

    @pytest.fixture
    def refused(self, served):
        """Does something that has to exit with 4 and move nothing."""

        def refused(act, said):
            before = served.history("glyphs@production")
            with pytest.raises(IntegrityError, match=said) as error:
                act()
            assert error.value.exit_code == 4
            assert served.history("glyphs@production") == before

        return refused

    def test_by_a_promotion_that_names_it(self, served, mapped, refused, damage, said):
        damage(served, mapped)
        for terms in (
            {"require_compatible": True},
            {"force": True, "reason": "in a hurry"},
        ):
            refused(
                lambda terms=terms: served.promote(
                    "glyphs/2", "production", index="glyphs#2", **terms
                ),
                said,
            )

    def test_by_a_promotion_that_keeps_it(
        self, served, mapped, prove, refused, damage, said
    ):
        terms = {"require_compatible": True}
        served.promote("glyphs/2", "production", index="glyphs#2", **terms)
        prove("glyphs/3", "glyphs/1", "glyphs:1")
        prove("glyphs/3", "glyphs/2")
        damage(served, mapped)
        refused(lambda: served.promote("glyphs/3", "production", **terms), said)

    def test_by_naming_it_for_an_alias(self, served, mapped, refused, damage, said):
        served.promote("glyphs/2", "production", force=True, reason="a trial")
        damage(served, mapped)
        refused(lambda: served.serve_index("glyphs@production", "glyphs#2"), said)

    def test_by_a_rollback(self, served, mapped, prove, refused, damage, said):
        served.promote(
            "glyphs/2", "production", require_compatible=True, index="glyphs#2"
        )
        served.promote(
            "glyphs/1", "production", index="glyphs#1", force=True, reason="a trial"
        )
        damage(served, mapped)
        for terms in ({}, {"force": True, "reason": "outage"}):
            refused(
                lambda terms=terms: served.rollback("glyphs@production", **terms), said
            )


def test_a_damaged_index_that_is_not_served_any_more_holds_nothing_up(served, prove):
    prove("glyphs/2", "glyphs/1", "glyphs:1")
    index = served.build_index("kanji", through=["glyphs:1"])
    rows_changed(served, served.index("glyphs#1"))
    moved = served.promote(
        "glyphs/2", "production", require_compatible=True, index=index.name
    )
    assert moved.to_index == "glyphs#2"


def test_an_index_that_came_meanwhile_is_verified_in_its_place(
    served, prove, monkeypatch
):
    """The alias is moved to another index while the one that it kept is read."""
    other = served.build_index("kanji")
    rows_changed(served, other)
    prove("glyphs/2", "glyphs/1")
    verify = type(served)._verify_index

    def slow(self, index):
        monkeypatch.undo()
        verify(self, index)
        monkeypatch.setattr(type(served), "_verify_index", lambda *_: None)
        served.serve_index("glyphs@production", other.name)
        monkeypatch.undo()

    monkeypatch.setattr(type(served), "_verify_index", slow)
    with pytest.raises(IntegrityError, match=r"rows\.arrow: content changed"):
        served.promote("glyphs/2", "production", require_compatible=True)


def test_whoever_waits_for_an_index_to_be_read_sees_how_far_it_is(
    served, prove, monkeypatch
):
    index = served.build_index("kanji", through=["glyphs:1"])
    prove("glyphs/2", "glyphs/1", "glyphs:1")
    read = {}

    @contextlib.contextmanager
    def reporter(title, total):
        read[title] = 0

        def progress(count):
            read[title] += count

        yield progress

    monkeypatch.setattr(served, "_reporter", reporter)
    served.promote("glyphs/2", "production", require_compatible=True, index=index.name)
    files = [path for path in Path(index.location).rglob("*") if path.is_file()]
    assert read["verifying glyphs#2"] == sum(path.stat().st_size for path in files)


def test_a_rollback_to_the_index_that_is_served_already_does_not_wait_for_it(
    served, prove
):
    """Its damage is in service: leaving a bad version makes nothing worse."""
    prove("glyphs/2", "glyphs/1")
    served.promote("glyphs/2", "production", require_compatible=True)
    rows_changed(served, served.index("glyphs#1"))

    assert served.rollback("glyphs@production").to_version == "glyphs/1"


def test_an_index_is_not_read_for_a_promotion_that_the_gate_refuses(
    served, monkeypatch
):
    monkeypatch.setattr(
        type(served), "_verify_index", lambda *_: pytest.fail("it was read")
    )
    with pytest.raises(GateRefusedError):
        served.promote("glyphs/2", "production", require_compatible=True)


def test_a_file_of_an_index_that_cannot_be_read_is_named(served, prove, monkeypatch):
    prove("glyphs/2", "glyphs/1")

    def broken(path, progress=None):
        if path.name == "rows.arrow":
            raise OSError(5, "Input/output error")
        return digest_file(path, progress)

    monkeypatch.setattr(index_manifest, "digest_file", broken)
    with pytest.raises(IntegrityError, match=r"rows.arrow: cannot be read: Input"):
        served.promote("glyphs/2", "production", require_compatible=True)


def test_vectors_added_to_the_gallery_of_a_named_index_count_too(served, fill_gallery):
    fill_gallery("faces", "glyphs/1")
    index = served.build_index("faces")
    served.promote("glyphs/2", "production", force=True, reason="a trial")
    fill_gallery("faces", "glyphs/3", start=100)

    with pytest.raises(GateRefusedError, match=r"the gallery faces has 20 .*glyphs/3"):
        served.rollback("glyphs@production", index=index.name)


def test_an_index_is_not_read_where_it_is_served_already_or_may_not_be(
    served, monkeypatch
):
    mapped = served.build_index("kanji", through=["glyphs:1"])
    monkeypatch.setattr(
        type(served), "_verify_index", lambda *_: pytest.fail("it was read")
    )
    assert served.serve_index("glyphs@production", "glyphs#1") is None
    with pytest.raises(GateRefusedError):
        served.serve_index("glyphs@production", mapped.name)
