"""Mistakes on the command line are named before anything is trained."""

from pathlib import Path

import pytest

from keras_bct.experiments.command_line import run


def message(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        run(arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert "TABLE" in message([], capsys)


def test_an_unknown_table(capsys: pytest.CaptureFixture[str]) -> None:
    said = message(["table6"], capsys)
    assert "one of table1, table2, table3, table4, table5, lambda, fastfill" in said
    assert "or all. Received: 'table6'" in said


@pytest.mark.parametrize("option", ["--seeds", "--steps"])
def test_a_count_below_one(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = message(["table1", option, "0"], capsys)
    assert f"{option} should be at least 1. Received: 0" in said


def test_a_file_in_place_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    said = message(["table1", "--data", str(file)], capsys)
    assert "--data should be a directory" in said


def test_help_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(["--help"])
    assert stopped.value.code == 0
    assert "goes on where it was" in capsys.readouterr().out
