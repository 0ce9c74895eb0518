"""docs/methods.md is what the docstrings cite, and names files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "methods.md").read_text()


def test_every_section_that_a_docstring_cites_is_on_the_page():
    sections = set(re.findall(r"^## (\d+)\.", PAGE, re.M))
    cited = {
        (path.name, number)
        for room in ("keras_bct", "registry", "tfx_pipeline")
        for path in (ROOT / room).rglob("*.py")
        for number in re.findall(r"docs/methods\.md,\s+section (\d+)", path.read_text())
    }
    assert cited
    assert not {(name, number) for name, number in cited if number not in sections}


def test_every_file_that_the_page_names_is_there():
    named = re.findall(r"`(keras_bct/[\w/.]+)`", PAGE)
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]
