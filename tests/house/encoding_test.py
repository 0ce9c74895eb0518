"""No file is read or written in the encoding of whoever's terminal it is."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("keras_bct", "registry", "tfx_pipeline", "examples", "benchmarks", "setup")


def text_without_encoding(source):
    """Lines of calls that read or write text and leave its encoding to the locale."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _is_text(node) and not _names_encoding(node)
    ]


def _is_text(call):
    words = {keyword.arg: keyword.value for keyword in call.keywords}
    if any(
        isinstance(words.get(name), ast.Constant) and words[name].value is True
        for name in ("text", "universal_newlines")
    ):
        return True
    if isinstance(call.func, ast.Attribute):
        if call.func.attr in ("read_text", "write_text", "TextIOWrapper"):
            return True
        # Others have a method of that name, too; a path's takes a mode or nothing.
        mode = call.args[0] if call.args else words.get("mode")
        is_path = mode is None and not call.args
        return call.func.attr == "open" and (is_path or _is_text_mode(mode))
    if isinstance(call.func, ast.Name) and call.func.id == "open":
        mode = call.args[1] if len(call.args) > 1 else words.get("mode")
        return mode is None or _is_text_mode(mode)
    return False


def _is_text_mode(mode):
    return isinstance(mode, ast.Constant) and bool(
        re.fullmatch("[rwaxt+]{1,3}", str(mode.value))
    )


def _names_encoding(call):
    by_place = {"read_text": 0, "write_text": 1}
    if isinstance(call.func, ast.Attribute) and call.func.attr in by_place:
        if len(call.args) > by_place[call.func.attr]:
            return True
    return any(keyword.arg == "encoding" for keyword in call.keywords)


@pytest.mark.parametrize("room", ROOMS)
def test_every_text_file_names_its_encoding(room):
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for line in text_without_encoding(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("open(path)", [1]),
        ("open(path, 'w')", [1]),
        ("open(path, 'rb')", []),
        ("open(path, encoding='utf-8')", []),
        ("path.read_text()", [1]),
        ("path.read_text('utf-8')", []),
        ("path.write_text(text)", [1]),
        ("path.write_text(text, encoding='utf-8')", []),
        ("path.open('w')", [1]),
        ("path.open()", [1]),
        ("Image.open(stream)", []),
        ("subprocess.run(words, text=True)", [1]),
        ("subprocess.run(words, text=True, encoding='utf-8')", []),
    ],
)
def test_what_leaves_its_encoding_to_the_locale_is_found(source, found):
    assert text_without_encoding(source) == found


@pytest.mark.parametrize("room", ["keras_bct", "registry", "tfx_pipeline", "examples"])
def test_every_command_line_prints_whatever_the_encoding_of_its_output(room):
    parses = re.compile(r"(Argument|Command)Parser\(\w*[=\n]")
    for path in sorted((ROOT / room).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if parses.search(source):
            assert "    escape_what_cannot_be_printed()" in source, path
