"""What nothing uses is deleted; what is in use is not, and by what is said."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from registry import GateRefusedError, IntegrityError, NotFoundError, UsageError
from registry.cli.main import build_parser, main


def refusal(act, *words):
    """The reasons of a refusal, of which each holds one of the words."""
    with pytest.raises(GateRefusedError, match="nothing was changed") as refused:
        act()
    reasons = refused.value.reasons
    assert len(reasons) == len(words), reasons
    for reason, word in zip(reasons, words, strict=True):
        assert word in reason
    return refused.value


class TestVersion:
    def test_that_nothing_uses_is_deleted_with_its_files(self, three):
        deleted = three.delete_version("glyphs/3")
        assert deleted.size > 500
        assert not Path(deleted.location).exists()
        assert [v.name for v in three.versions()] == ["glyphs/1", "glyphs/2"]
        with pytest.raises(NotFoundError, match="Registered: glyphs/1, glyphs/2"):
            three.version("glyphs/3")
        assert not any(three.verify().values())

    def test_gives_its_number_to_no_other(self, three, make_model):
        three.delete_version("glyphs/3")
        assert three.register("glyphs", make_model("d")).name == "glyphs/4"

    def test_can_be_registered_again(self, three, tmp_path):
        three.delete_version("glyphs/3")
        again = three.register("glyphs", tmp_path / "exports" / "c")
        assert again.name == "glyphs/4"
        assert three.version_with(again.fingerprint) == again

    def test_that_an_alias_stands_at_is_not(self, three):
        refusal(
            lambda: three.delete_version("glyphs/1"),
            "the alias glyphs@production stands at it",
        )

    def test_that_a_rollback_goes_back_to_is_not(self, three):
        three.promote("glyphs/2", "production", force=True, reason="a test")
        refusal(
            lambda: three.delete_version("glyphs/1"),
            "a rollback of glyphs@production goes back to it",
        )

    def test_that_an_alias_left_long_ago_is_and_no_rollback_leads_there(self, three):
        three.promote("glyphs/2", "production", force=True, reason="a test")
        three.promote("glyphs/3", "production", force=True, reason="a test")
        three.delete_version("glyphs/1")
        assert three.rollback("glyphs@production").to_version == "glyphs/2"
        with pytest.raises(Exception, match="glyphs/1, which was deleted"):
            three.rollback("glyphs@production")
        first = three.history("glyphs@production")[0]
        assert first.to_version == "glyphs/1"

    def test_that_is_a_predecessor_is_not(self, three, make_model):
        three.register("glyphs", make_model("d"), predecessor="glyphs/3")
        refusal(lambda: three.delete_version("glyphs/3"), "the predecessor of glyphs/4")
        three.delete_version("glyphs/4")
        three.delete_version("glyphs/3")

    def test_whose_vectors_are_stored_is_not(self, three, fill_gallery, make_adapter):
        fill_gallery("kanji", "glyphs/2")
        three.build_index("kanji")
        three.add_adapter(make_adapter("ridge", "glyphs/1", "glyphs/2"))
        refusal(
            lambda: three.delete_version("glyphs/2"),
            "the gallery kanji has 20 of its vectors",
            "the index glyphs#1 holds 20 of its vectors",
            "the adapter glyphs:1 maps from or to it",
        )

    def test_of_which_nobody_knows_whether_vectors_are_stored_is_not(
        self, three, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/2")
        shutil.rmtree(three.galleries_folder / "kanji")
        refusal(lambda: three.delete_version("glyphs/3"), "nobody knows whether")

    def test_in_evidence_is_deleted_with_it_only_when_asked(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/3", "glyphs/2"))
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.5))
        refusal(lambda: three.delete_version("glyphs/3"), "evidence 1 was measured")
        deleted = three.delete_version("glyphs/3", with_evidence=True)
        assert deleted.evidence == (1,)
        assert three.edges() == []
        assert three.evidence(2).answer == "no"
        with pytest.raises(NotFoundError):
            three.evidence(1)

    def test_in_evidence_that_history_names_is_never(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        three.promote("glyphs/2", "canary", force=True, reason="a test")
        three.promote("glyphs/2", "production", require_compatible=True)
        three.promote("glyphs/3", "production", force=True, reason="a test")
        three.promote("glyphs/3", "canary", force=True, reason="a test")
        three.promote("glyphs/1", "canary", force=True, reason="a test")
        three.promote("glyphs/3", "canary", force=True, reason="a test")
        three.promote("glyphs/1", "production", force=True, reason="a test")
        refusal(
            lambda: three.delete_version("glyphs/2", with_evidence=True),
            "evidence 1 was measured with it and let an alias move",
        )

    def test_of_which_another_has_the_same_files_leaves_it_what_is_theirs(
        self, three, tmp_path, fill_gallery
    ):
        three.register("twins", tmp_path / "exports" / "c")
        fill_gallery("kanji", "glyphs/3")
        three.delete_version("glyphs/3")
        made_by = next(iter(three.gallery("kanji").fingerprints))
        assert three.version_with(made_by).name == "twins/1"

    def test_is_not_promoted_when_it_is_deleted_meanwhile(self, three, monkeypatch):
        verify = type(three)._verify

        def slow(self, version):
            monkeypatch.setattr(type(three), "_verify", verify)
            verify(self, version)
            three.delete_version("glyphs/3")

        monkeypatch.setattr(type(three), "_verify", slow)
        with pytest.raises(NotFoundError, match="no version glyphs/3"):
            three.promote("glyphs/3", "production", force=True, reason="a test")
        assert three.alias("glyphs@production").version.name == "glyphs/1"


class TestIndex:
    def test_that_is_served_or_would_be_again_is_not(self, served):
        served.publish_index("kanji", "glyphs", "production")
        served.publish_index("kanji", "glyphs", "production")
        refusal(lambda: served.delete_index("glyphs#3"), "production serves it")
        refusal(lambda: served.delete_index("glyphs#2"), "a rollback of")
        deleted = served.delete_index("glyphs#1")
        assert not Path(deleted.location).exists()
        assert [i.name for i in served.indices()] == ["glyphs#2", "glyphs#3"]
        assert served.history("glyphs@production")[1].to_index == "glyphs#1"
        served.rollback("glyphs@production")
        with pytest.raises(Exception, match="glyphs#1, which was deleted"):
            served.rollback("glyphs@production")
        with pytest.raises(NotFoundError):
            served.serve_index("glyphs@production", "glyphs#1")

    def test_a_searcher_that_was_opened_before_goes_on(self, served):
        from registry.indices.searcher import Searcher

        index = served.build_index("kanji")
        searcher = Searcher(Path(index.location))
        served.delete_index(index.name)
        query = served.gallery("kanji").read().embeddings[:1]
        assert searcher.search(query, k=1)[0][0].id == "row-0"
        with pytest.raises(IntegrityError, match=r"manifest\.json"):
            Searcher(Path(index.location))


class TestAdapter:
    def test_that_an_index_or_evidence_went_through_is_not(self, served, prove):
        served.build_index("kanji", through=["glyphs:1"])
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        refusal(
            lambda: served.delete_adapter("glyphs:1"),
            "rows of the index glyphs#2 went through it",
            "evidence 1 was measured with it",
        )
        served.delete_index("glyphs#2")
        served.delete_adapter("glyphs:1", with_evidence=True)
        assert served.adapters() == []
        assert served.edges() == []

    def test_can_be_added_again(self, served, make_adapter, tmp_path):
        served.delete_adapter("glyphs:1")
        again = served.add_adapter(tmp_path / "adapters" / "ridge")
        assert again.name == "glyphs:2"


class TestGallery:
    def test_that_an_index_is_of_is_not(self, served):
        refusal(
            lambda: served.delete_gallery("kanji"), "the index glyphs#1 is of its rows"
        )

    def test_that_a_protocol_measures_on_is_not(self, three, fill_gallery, protocol):
        fill_gallery("kanji", "glyphs/1")
        text = protocol.read_text().replace(
            "{source: tfrecord, path: gallery.tfrecord}",
            "{source: gallery, path: kanji}",
        )
        protocol.write_text(text)
        refusal(
            lambda: three.delete_gallery("kanji"),
            "the protocol of glyphs@production measures on it",
        )

    def test_is_deleted_with_its_rows_and_can_be_made_anew(self, three, fill_gallery):
        old = fill_gallery("kanji/all", "glyphs/2")
        index = three.build_index("kanji/all")
        three.delete_index(index.name)
        three.delete_gallery("kanji/all")
        assert three.galleries() == []
        assert not old.folder.exists()
        with pytest.raises(NotFoundError):
            three.gallery("kanji/all")
        assert fill_gallery("kanji/all", "glyphs/1", rows=3).rows == 3
        assert three.build_index("kanji/all").rows == 3

    def test_is_named_as_such_by_the_command(self, three, fill_gallery, capsys):
        fill_gallery("kanji", "glyphs/2")
        argv = ["--root", three.root.url, "delete"]
        assert main(build_parser().parse_args([*argv, "kanji"])) == 2
        assert "--gallery kanji" in capsys.readouterr().err
        assert main(build_parser().parse_args([*argv, "glyphs"])) == 2
        assert "an index (glyphs#2)" in capsys.readouterr().err
        assert main(build_parser().parse_args([*argv, "--gallery", "kanij"])) == 2
        assert "Did you mean 'kanji'" in capsys.readouterr().err

    def test_made_in_the_folder_of_a_deleted_one_keeps_its_rows(
        self, three, fill_gallery
    ):
        fill_gallery("kanji", "glyphs/2")
        three.delete_gallery("kanji")
        fill_gallery("kanji/new", "glyphs/2")
        assert three.collect_garbage() == []
        assert three.gallery("kanji/new").rows == 20

    def test_made_anew_while_the_files_of_the_old_one_go_keeps_its_rows(
        self, three, fill_gallery, monkeypatch
    ):
        fill_gallery("kanji", "glyphs/2")
        writing = type(three.database).writing
        calls = iter(range(2))

        def meanwhile(self):
            if next(calls) == 1:
                monkeypatch.setattr(type(self), "writing", writing)
                fill_gallery("kanji", "glyphs/2", rows=3)
            return writing(self)

        monkeypatch.setattr(type(three.database), "writing", meanwhile)
        three.delete_gallery("kanji")
        assert three.gallery("kanji").rows == 3

    def test_who_reads_it_is_told_that_it_is_gone(self, three, fill_gallery):
        old = fill_gallery("kanji", "glyphs/2")
        three.delete_gallery("kanji")
        with pytest.raises(Exception, match="rows were removed meanwhile"):
            old.read()
        with pytest.raises(NotFoundError, match="no gallery in"):
            old.check()


class TestAlias:
    def test_is_deleted_with_a_reason_that_history_keeps(self, three):
        three.promote("glyphs/2", "canary", force=True, reason="a test")
        with pytest.raises(UsageError, match="--reason"):
            three.delete_alias("glyphs@canary")
        three.delete_alias("glyphs@canary", dry_run=True)
        with pytest.raises(NotFoundError):
            three.delete_alias("glyphs@nosuch")
        three.delete_alias("glyphs@canary", reason="the trial is over")
        assert [a.name for a in three.aliases()] == ["production"]
        last = three.history("glyphs@canary")[-1]
        assert (last.action, last.reason) == ("delete", "the trial is over")

    def test_makes_way_for_what_it_stood_at(self, three):
        three.promote("glyphs/2", "canary", force=True, reason="a test")
        three.delete_alias("glyphs@canary", reason="over")
        three.delete_version("glyphs/2")

    def test_that_is_made_anew_does_not_go_back_to_before(self, three):
        three.promote("glyphs/2", "canary", force=True, reason="a test")
        three.promote("glyphs/3", "canary", force=True, reason="a test")
        three.delete_alias("glyphs@canary", reason="over")
        three.promote("glyphs/1", "canary", force=True, reason="anew")
        with pytest.raises(Exception, match="from the start"):
            three.rollback("glyphs@canary")


@pytest.mark.parametrize("instant", ["before its files go", "when a file is gone"])
def test_whoever_is_killed_leaves_nothing_that_is_seen_and_gc_clears_it(
    three, environment, instant
):
    script = (
        "import os, signal, sys\n"
        "from registry import Registry\n"
        "from registry.artifacts.storage import ArtifactRoot\n"
        "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "def half(self, *parts):\n"
        "    os.unlink(self.location(*parts, 'saved_model.pb'))\n"
        "    die()\n"
        f"ArtifactRoot.remove = {'die' if 'before' in instant else 'half'}\n"
        "Registry(sys.argv[1]).delete_version('glyphs/3')\n"
    )
    argv = [sys.executable, "-c", script, three.root.url]
    assert subprocess.run(argv, env=environment).returncode == -signal.SIGKILL
    folder = three.root.path("glyphs", "3")
    assert folder.exists()
    assert [v.name for v in three.versions()] == ["glyphs/1", "glyphs/2"]
    assert not any(three.verify().values())
    (found,) = three.collect_garbage(dry_run=True)
    assert (found.location, found.why) == (str(folder), "glyphs/3 was deleted")
    assert found.size == sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    assert folder.exists()
    assert three.collect_garbage() == [found]
    assert not folder.exists()
    assert three.collect_garbage() == []


class TestGarbage:
    def test_is_what_dead_processes_left_and_nothing_else(self, served, kill_while):
        folder = served.root.path()
        export = folder.parent / "exports" / "d"
        shutil.copytree(folder.parent / "exports" / "c", export)
        (export / "variables" / "variables.data").write_bytes(b"d")
        call = "Registry(root).register('glyphs', folder)"
        kill_while(call, folder, export, "variables.data")
        left = {
            folder / "glyphs" / "4": None,
            folder / "indices" / "glyphs" / "7" / "rows.arrow": b"published",
            folder / "indices" / "glyphs" / ".building-x" / "rows.arrow": b"built",
            folder / "galleries" / "kanji" / "segment-000009.arrow": b"appended",
            folder / "galleries" / "kanji" / "manifest.json.partial": b"{",
            folder / "galleries" / "half" / "manifest.json": b"{}",
        }
        for path, content in left.items():
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        before = set(folder.rglob("*"))
        found = served.collect_garbage(dry_run=True)
        assert set(folder.rglob("*")) == before
        assert {Path(item.location) for item in found} == {
            path.parent if path.parent.name in ("7", ".building-x", "half") else path
            for path in left
        }
        assert served.collect_garbage() == found
        assert not any(path.exists() for path in left)
        assert served.collect_garbage() == []
        assert not any(served.verify().values())

    @pytest.mark.parametrize(
        "mine", ["indices/glyphs/1-copy/rows.arrow", "galleries/mine/photo.png"]
    )
    def test_is_nothing_that_somebody_else_put_there(self, served, mine):
        path = served.root.path(mine)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"mine")
        (path.parent / "manifest.json").write_text("{}")
        (found,) = served.collect_garbage()
        assert (found.location, found.removed) == (str(path.parent), False)
        assert path.read_bytes() == b"mine"

    def test_does_not_take_the_gallery_inside_it(self, served, fill_gallery):
        fill_gallery("half/inside", "glyphs/1")
        (served.galleries_folder / "half" / "manifest.json").write_text("{}")
        served.collect_garbage()
        assert served.gallery("half/inside").rows == 20

    def test_of_a_process_that_still_runs_is_left_alone(self, served, monkeypatch):
        from registry.indices import building as index_building

        check = index_building._refuse_cut_short

        def meanwhile(folder):
            monkeypatch.setattr(index_building, "_refuse_cut_short", check)
            assert served.collect_garbage() == []
            check(folder)

        monkeypatch.setattr(index_building, "_refuse_cut_short", meanwhile)
        assert not any(served.verify().values())
        assert served.build_index("kanji").name == "glyphs#2"

    def test_that_is_not_the_registry_s_stays_and_is_said(self, served):
        stranger = served.root.path("glyphs", "99")
        stranger.mkdir()
        (stranger / "saved_model.pb").write_bytes(b"another's")
        (found,) = served.collect_garbage()
        assert (found.location, found.removed) == (str(stranger), False)
        assert stranger.exists()

    def test_are_unserved_indices_too_when_asked(self, served):
        served.build_index("kanji")
        assert served.collect_garbage() == []
        (found,) = served.collect_garbage(unserved_indices=True, dry_run=True)
        assert found.why == "glyphs#2 is served by no alias"
        assert len(served.indices()) == 2
        assert served.collect_garbage(unserved_indices=True) == [found]
        assert [index.name for index in served.indices()] == ["glyphs#1"]


class TestCommandLine:
    @pytest.fixture
    def run(self, served, capsys):
        def run(*argv):
            capsys.readouterr()
            code = main(build_parser().parse_args(["--root", served.root.url, *argv]))
            return code, capsys.readouterr()

        return run

    @pytest.mark.parametrize(
        "argv",
        [
            ["glyphs/3"],
            ["glyphs:1"],
            ["glyphs#2"],
            ["--gallery", "spare"],
            ["glyphs@canary", "--reason", "over"],
        ],
    )
    def test_deletes_by_name_after_a_dry_run(self, run, served, fill_gallery, argv):
        served.build_index("kanji")
        fill_gallery("spare", "glyphs/2")
        served.promote("glyphs/2", "canary", force=True, reason="a test")
        name = argv[0] if len(argv) != 2 else argv[1]
        code, said = run("delete", *argv, "--dry-run")
        assert (code, said.out.startswith(f"{name} would be deleted")) == (0, True)
        code, said = run("delete", *argv)
        assert (code, said.out.startswith(f"{name} is deleted: ")) == (0, True)
        code, said = run("delete", *argv)
        assert code == 2

    def test_refuses_with_3_and_all_reasons(self, run):
        code, said = run("delete", "glyphs/1", "--json")
        assert code == 3
        assert len(json.loads(said.out)["error"]["reasons"]) == 4

    def test_wants_one_name(self, run):
        assert run("delete")[0] == 2
        assert run("delete", "glyphs/3", "--gallery", "kanji")[0] == 2

    def test_collects_garbage(self, run, served):
        left = served.root.path("galleries", "kanji", "segment-000009.arrow")
        left.write_bytes(b"half")
        code, said = run("gc", "--dry-run")
        assert (code, said.out.splitlines()[-1]) == (0, "4 bytes would be removed")
        assert left.exists()
        code, said = run("gc", "--json")
        assert json.loads(said.out)[0]["size"] == 4
        assert not left.exists()
        assert run("gc")[1].out == "0 bytes removed\n"
