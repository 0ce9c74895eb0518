import io
import json
import os
import re
import statistics
import subprocess
import sys
import time

import pytest

from registry.cli.main import COMMANDS, build_parser
from registry.cli.output import print_json


def test_there_are_the_commands_of_the_manual():
    assert {command.name for command in COMMANDS} >= {
        "init",
        "register",
        "list",
        "show",
        "evaluate",
        "promote",
        "rollback",
        "lineage",
        "verify",
        "search",
        "serving-config",
        "adapter",
    }


def every(commands, *before):
    """All commands with the words that call them, those behind others included."""
    for command in commands:
        words = (*before, command.name)
        yield pytest.param(words, command, id=" ".join(words))
        yield from every(command.subcommands, *words)


@pytest.mark.parametrize(("name", "command"), list(every(COMMANDS)))
def test_each_help_shows_an_example_that_parses(run, name, command):
    shown = run(*name, "--help")
    assert shown.code == 0
    example = re.search(r"example:\n  (registry .*)", shown.out).group(1)
    words = re.sub(r"'[^']*'", "text", example).split(" > ")[0].split()
    expected = [c.run for c in command.subcommands] or [command.run]
    assert build_parser().parse_args(words[1:]).run in expected
    assert set(name) <= set(words)


def test_the_help_shows_how_each_thing_is_named(run):
    shown = run("--help").out
    for name in ("glyphs/3", "glyphs@production", "glyphs#2", "glyphs:1"):
        assert name in shown


def test_wrong_usage_exits_2(spawn):
    assert spawn("promote").code == 2
    assert spawn("no-such-command").code == 2


@pytest.mark.parametrize("words", [[], ["help"], ["-h"], ["-V"], ["--version"]])
def test_who_asks_what_this_is_gets_an_answer(run, capsys, words):
    with pytest.raises(SystemExit) as left:
        build_parser().parse_args(words)
    assert left.value.code == 0
    assert "registry" in capsys.readouterr().out


def test_wrong_usage_of_a_command_shows_that_commands_usage(run):
    refused = run("list", "--model", "glyphs")
    assert refused.code == 2
    assert refused.err.startswith("usage: registry list ")
    assert "MODEL stands by itself, without --model" in refused.err


@pytest.mark.parametrize(
    ("argv", "like"),
    [
        (["list", "glphs"], "glyphs"),
        (["show", "glphs"], "glyphs"),
        (["show", "glphs/1"], "glyphs"),
        (["show", "glphs@production"], "glyphs"),
        (["show", "glyphs@prodution"], "production"),
        (["show", "glphs#1"], "glyphs"),
        (["lineage", "glphs"], "glyphs"),
        (["verify", "glphs"], "glyphs"),
        (["adapter", "list", "glphs"], "glyphs"),
        (["adapter", "show", "glphs:1"], "glyphs"),
        (["rollback", "glyphs@prodution"], "production"),
        (["rollback", "glphs@production"], "glyphs"),
        (["evaluate", "glphs/1", "--against", "x/1", "--protocol", "p"], "glyphs"),
        (["gallery", "kanij"], "kanji"),
        (["index", "kanij"], "kanji"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_an_unknown_name_exits_2_and_names_the_one_like_it(
    run, promoted, fill_gallery, argv, like
):
    fill_gallery("kanji", "glyphs/1")
    refused = run(*argv, "--json")
    assert refused.code == refused.json["error"]["exit_code"] == 2
    assert f"Did you mean {like!r}?" in refused.json["error"]["message"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_read_back_whatever_the_outputs_encoding(monkeypatch, encoding):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    said = {"label": "漢字 \U0001f600 é \u2028 \udcff"}
    print_json(said)
    sys.stdout.flush()
    assert json.loads(written.getvalue().decode(encoding)) == said


def test_without_a_root_it_asks_for_one(spawn):
    asked = spawn("list", REGISTRY_ROOT="")
    assert asked.code == 2
    assert "REGISTRY_ROOT" in asked.err


def test_the_root_may_stand_in_the_environment(spawn, root):
    assert spawn("list", REGISTRY_ROOT=root).code == 0


def test_the_root_may_stand_before_or_after_the_command(spawn, root):
    assert spawn("--root", root, "list", REGISTRY_ROOT="/nowhere").code == 0
    assert spawn("list", "--root", root, REGISTRY_ROOT="/nowhere").code == 0


def test_a_folder_without_registry_exits_2(spawn, tmp_path):
    refused = spawn("--root", tmp_path, "list")
    assert refused.code == 2
    assert "registry init" in refused.err


def test_a_root_that_is_a_file_exits_1(spawn, tmp_path):
    (tmp_path / "file").touch()
    refused = spawn("--root", tmp_path / "file", "init")
    assert refused.code == 1
    assert "Traceback" not in refused.err


def test_a_file_that_is_no_database_exits_1(spawn, tmp_path):
    (tmp_path / "registry.db").write_bytes(b"no database" * 100)
    refused = spawn("--root", tmp_path, "list")
    assert refused.code == 1
    assert "not a database" in refused.err
    assert "Traceback" not in refused.err


def test_a_reader_that_stops_reading_is_no_error(
    root, registry, make_model, environment
):
    for name in "abc":
        registry.register("glyphs", make_model(name))
    done = subprocess.run(
        f"{sys.executable} -m registry --root {root} list | true; "
        'echo "${PIPESTATUS[0]}"',
        shell=True,
        executable="/bin/bash",
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_errors_are_json_where_a_program_reads(run):
    refused = run("show", "glyphs/1", "--json")
    assert refused.code == 2
    assert refused.json["error"]["kind"] == "NotFoundError"
    assert refused.json["error"]["exit_code"] == 2


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["promote", "glyphs/1", "--json"], "--to"),
        (["--json", "search", "x@y", "--image", "z", "-k", "many"], "'many'"),
        (["no-such-command", "--json"], "no-such-command"),
    ],
)
def test_wrong_usage_is_json_too(spawn, argv, said):
    refused = spawn(*argv)
    assert refused.code == refused.json["error"]["exit_code"] == 2
    assert said in refused.json["error"]["message"]
    assert said in refused.err


def test_what_the_system_refuses_is_json_too(spawn, tmp_path):
    (tmp_path / "file").touch()
    refused = spawn("--root", tmp_path / "file", "init", "--json")
    assert refused.code == refused.json["error"]["exit_code"] == 1
    assert "Traceback" not in refused.err


def test_arguments_that_are_not_utf_8_are_shown(spawn, root, registry, make_model):
    registry.register("glyphs", make_model("a"))
    move = ["promote", "glyphs/1", "--to", "production", "--force"]
    refused = spawn("--root", root, *move, "--reason", os.fsdecode(b"\xff"), "--json")
    assert refused.code == 2
    assert "UTF-8" in refused.json["error"]["message"]
    assert registry.aliases() == []


def test_a_root_of_an_unknown_kind_is_named(spawn, root, registry, make_model):
    registry.register("glyphs", make_model("a"))
    where = [
        "--root",
        "nothing://bucket",
        "--database",
        f"sqlite:///{root}/registry.db",
    ]
    refused = spawn(*where, "verify", "--json")
    assert refused.code == 2
    assert "'nothing://bucket' cannot be opened" in refused.json["error"]["message"]


HEAVY = ("tensorflow", "keras", "numpy", "pyarrow", "scann", "alembic", "yaml", "tqdm")


@pytest.mark.parametrize(
    "argv",
    [
        ["list"],
        ["list", "--json"],
        ["show", "glyphs/1"],
        ["show", "glyphs@production"],
        ["lineage", "glyphs"],
        ["adapter", "list"],
        ["adapter", "show", "glyphs:1"],
        ["serving-config"],
        ["rollback", "glyphs@production"],
    ],
    ids=" ".join,
)
def test_metadata_commands_import_nothing_heavy(
    registry, make_model, make_adapter, environment, argv
):
    registry.register("glyphs", make_model("a"))
    registry.promote("glyphs/1", "production", require_compatible=True)
    registry.register("glyphs", make_model("b"))
    registry.add_adapter(make_adapter("ridge"))
    script = (
        "import sys\n"
        "from registry.cli.main import build_parser, main\n"
        "main(build_parser().parse_args(sys.argv[1:]))\n"
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--root", registry.root.url, *argv],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_adding_an_adapter_and_promoting_import_no_tensorflow(
    registry, make_model, make_adapter, make_evidence, protocol, environment
):
    registry.register("glyphs", make_model("a"))
    registry.promote(
        "glyphs/1", "production", require_compatible=True, protocol=protocol
    )
    registry.register("glyphs", make_model("b"))
    registry.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    script = (
        "import sys\n"
        "from registry import Registry\n"
        "registry = Registry(sys.argv[1])\n"
        "registry.add_adapter(sys.argv[2])\n"
        "registry.promote('glyphs/2', 'production', require_compatible=True)\n"
        "registry.verify()\n"
        "assert 'tensorflow' not in sys.modules and 'keras' not in sys.modules\n"
    )
    adapter = str(make_adapter("ridge"))
    subprocess.run(
        [sys.executable, "-c", script, registry.root.url, adapter],
        env=environment,
        check=True,
    )
    assert registry.resolve("glyphs@production").name == "glyphs/2"


@pytest.mark.slow
def test_list_answers_within_three_bare_imports_of_sqlalchemy(
    registry, make_model, environment
):
    """Alternating runs, so that a busy machine slows both; the quickest of each."""
    for name in "abc":
        registry.register("glyphs", make_model(name))
    commands = {
        "bare": ["-c", "import sqlalchemy"],
        "list": ["-m", "registry", "--root", registry.root.url, "list"],
    }
    seconds = {name: [] for name in commands}
    for _ in range(15):
        for name, argv in commands.items():
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, *argv],
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            seconds[name].append(time.perf_counter() - start)
    ratio = min(seconds["list"]) / min(seconds["bare"])
    print(f"list: {ratio:.2f} of a bare import; ", end="")
    print({name: f"{statistics.median(s):.2f} s" for name, s in seconds.items()})
    assert ratio < 3
