import ast
import io
import sys
from pathlib import Path

import pytest

import keras_bct
from keras_bct import progress
from keras_bct.progress import progress_bar
from registry.progress import show_bytes


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def written(monkeypatch):
    """What work of three units writes to an output of some kind."""
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0)

    def written(output, begin=lambda: progress_bar(3, "work", "unit")):
        monkeypatch.setattr(sys, "stderr", output)
        with begin() as bar:
            for _ in range(3):
                getattr(bar, "update", bar)(1)
        return output.getvalue()

    return written


def test_a_terminal_shows_a_bar_and_is_clean_afterwards(written):
    shown = written(Terminal())
    assert "work" in shown
    assert shown.endswith("\r")


def test_a_log_file_gets_no_bar(written):
    assert written(io.StringIO()) == ""
    assert written(io.StringIO(), lambda: show_bytes("work", None)) == ""


def test_a_bar_that_is_not_wanted_is_not_shown(written):
    assert written(Terminal(), lambda: progress_bar(3, "work", "unit", False)) == ""


def test_every_bar_is_this_one():
    root = Path(keras_bct.__file__).parents[1]
    own = Path(progress.__file__)
    using = [
        path
        for room in ("keras_bct", "registry", "tfx_pipeline", "examples")
        for path in (root / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "tqdm"
    ]
    assert using == [own]
