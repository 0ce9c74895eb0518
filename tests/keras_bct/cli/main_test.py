"""The command `keras-bct` as such; what its commands do is tested beside this."""

import io
import sys

import pytest

from keras_bct.__main__ import main
from keras_bct.cli import train


def leaves(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code, *capsys.readouterr()


@pytest.mark.parametrize("words", [[], ["help"], ["--help"]], ids=str)
def test_who_asks_what_this_is_gets_an_answer(capsys, words):
    code, out, err = leaves(capsys, *words)
    assert (code, err) == (0, "")
    assert out.startswith("usage: keras-bct ")
    assert "evaluate" in out and "train" in out


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_said(capsys, option):
    code, out, _ = leaves(capsys, option)
    assert code == 0
    assert out.startswith("keras-bct of keras-bct ")


def test_a_mistyped_command_exits_2_and_is_answered(capsys):
    code, _, err = leaves(capsys, "evalute")
    assert code == 2
    assert "Did you mean 'evaluate'?" in err


def test_a_mistyped_option_shows_the_usage_of_its_command(capsys):
    code, _, err = leaves(capsys, "train", "kanji-phi1", "--output", "x", "--quite")
    assert code == 2
    assert err.startswith("usage: keras-bct train ")
    assert "Did you mean '--quiet'?" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("no such recipe"), 2),
        (FileNotFoundError(2, "No such file", "x"), 2),
        (PermissionError(13, "Permission denied", "x"), 1),
        (OSError(28, "No space left on device", "x"), 1),
        (KeyboardInterrupt(), 1),
    ],
)
def test_what_goes_wrong_is_said_without_a_traceback(capsys, monkeypatch, error, code):
    def fail(arguments):
        raise error

    monkeypatch.setattr(train, "run", fail)
    assert main(["train", "kanji-phi1", "--output", "x"]) == code
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(error) in said


def test_text_that_the_output_cannot_encode_is_escaped(monkeypatch):
    from rich.console import Console
    from rich.table import Table

    def show(arguments):
        table = Table()
        table.add_column("label")
        table.add_row("漢字")
        Console().print(table)
        print("漢字")
        return 0

    written = io.BytesIO()
    monkeypatch.setattr(train, "run", show)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["train", "kanji-phi1", "--output", "x"]) == 0
    lines = written.getvalue().decode("ascii").splitlines()
    assert lines[-1] == "\\u6f22\\u5b57"
    assert any("\\u6f22\\u5b57" in line for line in lines[:-1])
