"""Each command once as a user meets it; what it does is tested with the registry."""

from pathlib import Path

import numpy as np
import pytest

from registry import Registry


def test_init_makes_a_registry(run, tmp_path):
    made = run("init", "--root", tmp_path / "new")
    assert made.code == 0
    assert "is ready (schema 0003)" in made.out
    assert Registry(tmp_path / "new").versions() == []


def test_register_prints_the_version_and_its_folder(run, make_model, root):
    done = run("register", "glyphs", make_model("a"))
    assert (done.code, done.out) == (
        0,
        f"glyphs/1 registered in {root}/glyphs/1\n",
    )


def test_register_takes_a_number(run, make_model):
    assert run("register", "glyphs/5", make_model("a"), "--json").json["name"] == (
        "glyphs/5"
    )


@pytest.mark.parametrize("name", ["../x", "", "galleries", "/etc", "a/../b/1"])
def test_register_refuses_unfit_names(run, make_model, name, root):
    before = sorted(path.name for path in Path(root).iterdir())
    assert run("register", name, make_model("a")).code == 2
    assert sorted(path.name for path in Path(root).iterdir()) == before


def test_list_is_a_table(run, promoted):
    lines = run("list").out.splitlines()
    assert [line.split()[:5] for line in lines] == [
        ["version", "alias", "size", "distance", "predecessor"],
        ["glyphs/1", "production", "64", "cosine", "-"],
        ["glyphs/2", "-", "64", "cosine", "glyphs/1"],
    ]


def test_list_is_json_for_programs(run, promoted):
    first, second = run("list", "glyphs", "--json").json
    assert (first["name"], first["aliases"]) == ("glyphs/1", ["production"])
    assert (second["number"], second["predecessor"]) == (2, "glyphs/1")


def test_a_gain_is_shown_with_its_interval(run, promoted, make_evidence):
    promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1", gain=0.6))

    table = run("show", "glyphs/2").out
    tree = run("lineage", "glyphs").out
    (found,) = run("--json", "show", "glyphs/2").json["evidence"]

    # 95 % of the made-up replicates lie within 0.0039 of the gain.
    assert "0.6000 [0.5961, 0.6039]" in table
    assert "gain 60.0 % [59.6, 60.4]" in tree
    low, high = found["metrics"][0]["gain_interval"]
    assert (low, high) == pytest.approx((0.5961, 0.6039), abs=1e-4)
    assert found["counts"] == {"queries": 400, "gallery": 400}


def test_without_a_gain_there_is_no_interval(run, promoted, make_evidence):
    promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1"))

    (found,) = run("--json", "show", "glyphs/2").json["evidence"]
    assert found["metrics"][0]["gain_interval"] is None


def test_show_tells_all_of_a_version(run, promoted, make_evidence):
    promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.7))
    shown = run("show", "glyphs/2").out
    assert promoted.version("glyphs/2").fingerprint in shown
    assert "training.steps  2000" in " ".join(shown.split("\n")).replace("   ", "  ")
    assert "glyphs/2 -> glyphs/1" in shown
    assert "[-0.7039, -0.6961]" in shown


def test_show_tells_the_history_of_an_alias(run, promoted):
    promoted.promote("glyphs/2", "production", force=True, reason="a trial")
    shown = run("show", "glyphs@production").out
    assert "bootstrap" in shown
    assert "a trial" in shown
    history = run("show", "glyphs@production", "--json").json["history"]
    assert [move["action"] for move in history] == ["bootstrap", "force"]


def test_promote_refuses_with_exit_3_and_changes_nothing(run, promoted, protocol):
    refused = run("promote", "glyphs/2", "--to", "production", "--require-compatible")
    assert refused.code == 3
    assert "there is no evidence" in refused.err
    assert f"evaluate glyphs/2 --against glyphs/1 --protocol {protocol}" in refused.err
    assert promoted.resolve("glyphs@production").name == "glyphs/1"


def test_promote_refuses_in_json_too(run, promoted):
    refused = run(
        "promote", "glyphs/2", "--to", "production", "--require-compatible", "--json"
    )
    assert refused.code == 3
    assert len(refused.json["error"]["reasons"]) == 1


def test_promote_moves_what_passes(run, promoted, make_evidence):
    promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    moved = run("promote", "glyphs/2", "--to", "production", "--require-compatible")
    assert (moved.code, moved.out) == (
        0,
        "glyphs@production: glyphs/1 -> glyphs/2 (promote, move 2)\n",
    )
    again = run("promote", "glyphs/2", "--to", "production", "--require-compatible")
    assert "already; nothing was changed" in again.out


def test_promote_takes_terms(run, promoted, make_evidence):
    promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    argv = ["promote", "glyphs/2", "--to", "production", "--require-compatible"]
    assert run(*argv, "--min-gain", "0.2").code == 3
    assert run(*argv, "--confidence", "95").code == 2
    assert run(*argv, "--confidence", "0.99").code == 0


def test_promote_without_terms_is_wrong_usage(run, promoted):
    assert run("promote", "glyphs/2", "--to", "production").code == 2


def test_promote_of_a_tampered_version_exits_4(run, promoted, make_evidence, root):
    promoted.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    Path(root, "glyphs/2/saved_model.pb").write_bytes(b"other")
    refused = run("promote", "glyphs/2", "--to", "production", "--require-compatible")
    assert refused.code == 4
    assert "saved_model.pb" in refused.err


def test_rollback_says_what_it_undid(run, promoted):
    promoted.promote("glyphs/2", "production", force=True, reason="a trial")
    assert run("rollback", "glyphs@production").out == (
        "glyphs@production: glyphs/2 -> glyphs/1 (undoes move 2)\ndone (move 3)\n"
    )


def test_rollback_takes_another_index_than_the_earlier_one(
    run, promoted, fill_gallery, tmp_path
):
    fill_gallery("kanji", "glyphs/1")
    run("index", "kanji", "--serve", "glyphs@production")
    promoted.promote("glyphs/2", "production", force=True, reason="a trial")
    (tmp_path / "ids.txt").write_text("row-3\n")
    run("gallery", "kanji", "--remove-ids", tmp_path / "ids.txt")
    run("index", "kanji")
    moved = run("rollback", "glyphs@production", "--index", "glyphs#2", "--json")
    assert moved.json["to_index"] == "glyphs#2"


def test_lineage_is_a_tree_or_json(run, promoted):
    assert "└─ glyphs/2" in run("lineage", "glyphs").out
    nodes = run("lineage", "glyphs", "--json").json["nodes"]
    assert [node["version"]["name"] for node in nodes] == ["glyphs/1", "glyphs/2"]
    assert nodes[0]["aliases"] == ["production"]


def test_verify_names_bad_files_and_exits_4(run, promoted, root):
    assert run("verify").code == 0
    Path(root, "glyphs/2/variables/variables.data").unlink()
    found = run("verify")
    assert found.code == 4
    assert found.out == "glyphs/1: ok\nglyphs/2: variables/variables.data: missing\n"


def test_serving_config_lists_what_is_promoted(run, promoted):
    assert "versions: 1" in run("serving-config").out


def test_search_without_index_says_so(run, promoted, tmp_path):
    (tmp_path / "query.png").write_bytes(b"png")
    refused = run("search", "glyphs@production", "--image", tmp_path / "query.png")
    assert refused.code == 2
    assert "serves no index" in refused.err


def test_search_of_a_picture_that_is_not_there_says_so(run, promoted):
    refused = run("search", "glyphs@production", "--image", "/nowhere/query.png")
    assert refused.code == 2
    assert "/nowhere/query.png" in refused.err


@pytest.mark.slow
def test_progress_never_reaches_standard_output(spawn, root, registry, toy_model):
    done = spawn("--root", root, "register", "glyphs", toy_model("old"), "--json")
    assert done.out.lstrip().startswith("{")
    assert done.err == ""


def test_gallery_imports_stored_embeddings_and_index_serves_them(
    run, promoted, tmp_path
):
    vectors = np.random.default_rng(0).normal(size=(12, 64)).astype(np.float32)
    names = [f"row-{n}" for n in range(12)]
    np.savez(tmp_path / "old.npz", id=names, embedding=vectors)
    argv = ["gallery", "kanji/all", "--import-file", tmp_path / "old.npz"]
    assert run(*argv, "--unchecked").code == 2
    refused = run(*argv, "--version", "glyphs/1")
    assert refused.code == 2
    assert "--pictures" in refused.err and "--unchecked" in refused.err
    assert run("gallery", "--json").json == []
    argv += ["--version", "glyphs/1", "--unchecked"]
    assert run(*argv).out.splitlines() == [
        "12 rows added",
        "gallery    generation  size  rows  embedded",
        "kanji/all  1           64    12    12 by glyphs/1 (12 unchecked)",
    ]
    assert run(*argv).code == 2
    (shown,) = run("gallery", "--json").json
    assert (shown["rows"], list(shown["unchecked"].values())) == (12, [12])
    doubt = (
        "  ! 12 of 12 vectors of glyphs/1 in kanji/all are unchecked: nobody compared "
        "them with what it makes of pictures\n"
    )
    served = run("index", "kanji/all", "--serve", "glyphs@production")
    assert served.out == (
        "glyphs@production serves glyphs#1: 12 rows of kanji/all, recall@10 1.0000 "
        f"(exact search)\n{doubt}"
    )
    assert promoted.alias("glyphs@production").index.name == "glyphs#1"
    assert doubt in run("show", "glyphs@production").out
    forced = ["--to", "production", "--force", "--reason", "to see"]
    assert doubt in run("promote", "glyphs/2", *forced).out
    back = ["--force", "--reason", "seen"]
    assert doubt in run("rollback", "glyphs@production", *back).out


@pytest.mark.parametrize(
    "rows",
    [
        None,
        {"id": ["a"]},
        {"id": ["a", "b"], "embedding": np.ones((2, 3), np.float32)},
        {"id": ["a", "a"], "embedding": np.ones((2, 64), np.float32)},
        {"id": ["a", "b"], "embedding": np.full((2, 64), np.nan, np.float32)},
    ],
    ids=["no file", "no embeddings", "another width", "an id twice", "NaN"],
)
def test_rows_that_cannot_be_imported_make_no_gallery(run, promoted, tmp_path, rows):
    if rows is not None:
        np.savez(tmp_path / "rows.npz", **rows)
    argv = ["gallery", "kanji", "--version", "glyphs/1", "--unchecked"]
    assert run(*argv, "--import-file", tmp_path / "rows.npz").code == 2
    assert run("gallery", "--json").json == []


@pytest.mark.parametrize(
    ("mode", "option"),
    [
        *((mode, ["--whole"]) for mode in ("", "--export-file", "--remove-ids")),
        *((mode, ["--version", "glyphs/1"]) for mode in ("", "--remove-ids")),
        *((mode, ["--columns", "id=a"]) for mode in ("", "--export-file")),
        *((mode, ["--pictures", "x"]) for mode in ("", "--export-file")),
        *((mode, ["--unchecked"]) for mode in ("", "--remove-ids")),
    ],
)
def test_gallery_takes_no_option_that_would_do_nothing(
    run, promoted, fill_gallery, tmp_path, mode, option
):
    fill_gallery("kanji", "glyphs/1")
    (tmp_path / "file.npz").write_text("row-3")
    refused = run(
        "gallery", "kanji", *([mode, tmp_path / "file.npz"] if mode else []), *option
    )
    assert refused.code == 2
    assert option[0] in refused.err
    assert promoted.gallery("kanji").rows == 20


def test_whole_is_for_pictures_not_for_a_file(run, promoted, tmp_path):
    argv = ["gallery", "kanji", "--import-file", tmp_path / "rows.npz"]
    refused = run(*argv, "--version", "glyphs/1", "--whole")
    assert refused.code == 2
    assert "--add-pictures" in refused.err


def test_verify_of_a_model_that_is_not_there_is_not_ok(run, promoted):
    refused = run("verify", "glyps")
    assert refused.code == 2
    assert "'glyps'" in refused.err


def test_a_reason_of_several_lines_stays_in_its_row(run, promoted):
    run("promote", "glyphs/1", "--to", "x", "--force", "--reason", "a\nb\x1b[31mc")
    shown = run("show", "glyphs@x").out
    assert shown.splitlines()[-1].endswith(r"a\nb\x1b[31mc")


def test_list_says_that_there_is_no_such_model(run, promoted):
    refused = run("list", "faces")
    assert refused.code == 2
    assert "no model 'faces'. The registry has: glyphs" in refused.err


def test_show_sums_up_a_model(run, promoted, fill_gallery):
    fill_gallery("kanji", "glyphs/1")
    promoted.publish_index("kanji", "glyphs", "production")
    assert run("show", "glyphs").out.splitlines() == [
        "model      glyphs",
        "versions   glyphs/1, glyphs/2",
        "aliases    production at glyphs/1 with glyphs#1",
        "adapters   -",
        "galleries  kanji",
        "indices    glyphs#1",
    ]
    assert run("show", "glyphs", "--json").json == {
        "model": "glyphs",
        "versions": ["glyphs/1", "glyphs/2"],
        "aliases": {"production": "glyphs/1"},
        "adapters": [],
        "galleries": ["kanji"],
        "indices": ["glyphs#1"],
    }


def test_show_tells_all_of_an_index(run, promoted, fill_gallery):
    fill_gallery("kanji", "glyphs/1")
    promoted.publish_index("kanji", "glyphs", "production")
    shown = [
        line.split(maxsplit=1) for line in run("show", "glyphs#1").out.splitlines()
    ]
    assert shown[:5] == [
        ["index", "glyphs#1"],
        ["aliases", "glyphs@production"],
        ["gallery", "kanji, generation 1"],
        ["rows", "20: 20 by glyphs/1"],
        ["compares", "64 components, cosine"],
    ]
    assert run("show", "glyphs#1", "--json").json["aliases"] == ["glyphs@production"]


def test_show_of_an_adapter_says_where_it_is_shown(run, promoted):
    refused = run("show", "glyphs:1")
    assert refused.code == 2
    assert "registry adapter show glyphs:1" in refused.err


def test_gallery_removes_rows_and_names_the_indices_that_hold_them(
    run, promoted, fill_gallery, tmp_path
):
    fill_gallery("kanji", "glyphs/1")
    promoted.build_index("kanji")
    (tmp_path / "ids.txt").write_text("row-3\nrow-4\n\n")
    done = run("gallery", "kanji", "--remove-ids", tmp_path / "ids.txt")
    assert "2 rows removed\n  ! glyphs#1 holds rows of before" in done.out
    assert promoted.gallery("kanji").rows == 18
    assert run("gallery", "kanji", "--remove-ids", tmp_path / "ids.txt").code == 2
    assert run("gallery", "kanji", "--remove-ids", tmp_path / "none.txt").code == 2
    assert run("gallery", "--remove-ids", tmp_path / "ids.txt").code == 2


def test_one_row_is_not_said_to_be_rows(run, promoted, fill_gallery, tmp_path):
    fill_gallery("kanji", "glyphs/1")
    (tmp_path / "ids.txt").write_text("row-3\n")
    done = run("gallery", "kanji", "--remove-ids", tmp_path / "ids.txt")
    assert done.out.startswith("1 row removed\n")


@pytest.mark.parametrize("name", ["nowhere", "*.png", "empty"])
def test_pictures_that_are_not_there_are_named(run, promoted, tmp_path, name):
    (tmp_path / "empty").mkdir()
    argv = ["gallery", "kanji", "--version", "glyphs/1"]
    refused = run(*argv, "--add-pictures", tmp_path / name)
    assert refused.code == 2
    assert str(tmp_path / name) in refused.err
    assert "Traceback" not in refused.err
