import io
import sys

import pytest

from keras_bct.command_line import CommandParser, escape_what_cannot_be_printed


@pytest.fixture
def parser():
    parser = CommandParser(prog="program", description="Does things.")
    parser.add_version()
    commands = parser.add_subparsers(metavar="COMMAND")
    show = commands.add_parser("show", description="Shows a thing.")
    show.add_argument("name", metavar="NAME", nargs="?")
    show.add_argument("--against")
    show.set_defaults(run=print)
    group = commands.add_parser("group", description="Several things.")
    inner = group.add_subparsers(metavar="COMMAND").add_parser("list")
    inner.set_defaults(run=len)
    return parser


def leaves(parser, capsys, *words):
    with pytest.raises(SystemExit) as left:
        parser.parse_args(words)
    return left.value.code, *capsys.readouterr()


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]], ids=str)
def test_without_a_command_the_help_is_shown(parser, capsys, words):
    code, out, err = leaves(parser, capsys, *words)
    assert (code, err) == (0, "")
    assert out.startswith("usage: program ") and "Does things." in out


@pytest.mark.parametrize("words", [["help", "show"], ["show", "--help"]], ids=str)
def test_help_of_a_command_is_that_commands(parser, capsys, words):
    code, out, _ = leaves(parser, capsys, *words)
    assert code == 0
    assert out.startswith("usage: program show ") and "Shows a thing." in out


@pytest.mark.parametrize("words", [["group"], ["help", "group"]], ids=str)
def test_a_command_with_commands_of_its_own_shows_its_help(parser, capsys, words):
    code, out, _ = leaves(parser, capsys, *words)
    assert code == 0
    assert out.startswith("usage: program group ")


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_shown(parser, capsys, monkeypatch, option):
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 1.2.3")
    code, out, _ = leaves(parser, capsys, option)
    assert (code, out) == (0, "program of keras-bct keras-bct 1.2.3\n")


@pytest.mark.parametrize(
    ("words", "usage", "said"),
    [
        (["show", "--agianst", "x"], "program show", "Did you mean '--against'?"),
        (["show", "a", "b"], "program show", "unrecognized arguments: b."),
        (["show", "--name", "a"], "program show", "NAME stands by itself"),
        (["group", "list", "x"], "program group list", "arguments: x."),
        (["--versio2", "show"], "program show", "Did you mean '--version'?"),
        (["shwo"], "program", "Did you mean 'show'?"),
        (["group", "lst"], "program group", "Did you mean 'list'?"),
    ],
    ids=lambda value: value if isinstance(value, list) else "",
)
def test_wrong_usage_shows_the_commands_own_usage(parser, capsys, words, usage, said):
    code, out, err = leaves(parser, capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"usage: {usage} [-h]")
    assert said in err


def test_what_is_asked_for_is_what_is_run(parser):
    assert parser.parse_args(["group", "list"]).run is len
    parsed = parser.parse_args(["show", "a", "--against", "b"])
    assert (parsed.run, parsed.name, parsed.against) == (print, "a", "b")


def test_what_the_encoding_of_the_output_lacks_is_escaped(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    escape_what_cannot_be_printed()
    print("字 and é")
    sys.stdout.flush()
    assert written.getvalue() == b"\\u5b57 and \\xe9\n"
