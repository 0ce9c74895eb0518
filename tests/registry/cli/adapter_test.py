"""`registry adapter`, and `registry index` through one, as a user meets them."""

from pathlib import Path

import numpy as np


class TestAdapter:
    def test_add_prints_what_it_maps(self, run, promoted, make_adapter, root):
        done = run("adapter", "add", make_adapter("ridge"))
        assert (done.code, done.out) == (
            0,
            f"glyphs:1 registered in {root}/adapters/glyphs/1: glyphs/1 -> glyphs/2, "
            "Ridge\n",
        )

    def test_add_refuses_what_is_no_adapter(self, run, promoted, make_model):
        refused = run("adapter", "add", make_model("c"), "--json")
        assert refused.code == 2
        assert refused.json["error"]["kind"] == "InvalidAdapterError"

    def test_list_is_a_table_and_json(self, run, promoted, make_adapter):
        assert "no adapters yet" in run("adapter", "list").out
        promoted.add_adapter(make_adapter("ridge"))
        promoted.add_adapter(make_adapter("back", seed=1, backward=True))
        lines = [line.split() for line in run("adapter", "list").out.splitlines()]
        assert [line[0] for line in lines] == ["adapter", "glyphs:1", "glyphs:2"]
        assert lines[1][1:5] == ["glyphs/1", "->", "glyphs/2", "Ridge"]
        assert lines[2][1:4] == ["glyphs/2", "->", "glyphs/1"]
        first, second = run("adapter", "list", "glyphs", "--json").json
        assert (first["name"], first["old"], first["new"]) == (
            "glyphs:1",
            "glyphs/1",
            "glyphs/2",
        )
        assert second["direction"] == "new-to-old"

    def test_show_tells_its_evidence_and_indices(
        self, run, promoted, make_adapter, make_evidence, fill_gallery
    ):
        adapter = promoted.add_adapter(make_adapter("ridge"))
        promoted.add_evidence(
            make_evidence(
                "glyphs/2", "glyphs/1", adapter_fingerprint=adapter.fingerprint
            )
        )
        fill_gallery("kanji", "glyphs/1")
        promoted.build_index("kanji", through=["glyphs:1"])
        shown = run("adapter", "show", "glyphs:1").out
        assert adapter.fingerprint in shown
        assert "settings.strength" in shown
        assert "glyphs/2 -> glyphs/1 through glyphs:1" in shown
        content = run("adapter", "show", "glyphs:1", "--json").json
        assert content["indices"] == ["glyphs#1"]
        assert content["evidence"][0]["answer"] == "yes"

    def test_verify_exits_4_and_names_the_file(self, run, promoted, make_adapter):
        adapter = promoted.add_adapter(make_adapter("ridge"))
        assert run("adapter", "verify").out == "glyphs:1: ok\n"
        next(Path(adapter.location).glob("*matrix.npy")).write_bytes(b"other")
        bad = run("adapter", "verify", "glyphs:1")
        assert bad.code == 4
        assert "matrix.npy" in bad.out
        assert run("verify").code == 4

    def test_without_a_command_it_shows_its_help(self, run):
        shown = run("adapter")
        assert shown.code == 0
        assert shown.out.startswith("usage: registry adapter ")


def test_index_of_rows_that_cannot_go_through_says_so_in_json_too(
    run, promoted, make_adapter
):
    promoted.add_adapter(make_adapter("ridge"))
    promoted.create_gallery("small", "glyphs", 32)
    promoted.gallery("small").append(
        ["a"], np.ones((1, 32)), promoted.version("glyphs/1").fingerprint
    )
    refused = run("index", "small", "--through", "glyphs:1", "--json")
    assert refused.code == 2
    assert "the gallery small" in refused.json["error"]["message"]


def test_index_without_an_alias_is_only_built(
    run, promoted, fill_gallery, make_adapter
):
    fill_gallery("kanji", "glyphs/1")
    promoted.add_adapter(make_adapter("ridge"))
    done = run("index", "kanji", "--through", "glyphs:1")
    assert done.out == (
        "glyphs#1 is built: 20 rows of kanji through glyphs:1, recall@10 1.0000 "
        "(exact search)\n"
    )
    assert promoted.alias("glyphs@production").index is None
    narrow = run("index", "kanji", "--first-components", "8", "--json").json
    assert (narrow["first_components"], narrow["adapters"]) == (8, {})
