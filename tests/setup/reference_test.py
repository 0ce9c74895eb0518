"""The pages of the reference say what the docstrings say."""

import ast
import re

import reference

import keras_bct.backfill
import registry

DOCSTRING = """\
Give one thing.

More about it, and a | table.

Args:
    size: How large it is,
        in pixels.
    **kwargs: The rest.

Returns:
    `(n,)` float32.

Raises:
    ValueError: It is too large.

Example:
    First this.

    >>> give(1)
    2

    Then that.

References:
    A paper, 2020."""

PAGE = """\
Give one thing.

More about it, and a | table.

**Args**

- `size`: How large it is,
  in pixels.
- `**kwargs`: The rest.

**Returns**

`(n,)` float32.

**Raises**

- `ValueError`: It is too large.

**Example**

First this.

```python
>>> give(1)
2
```

Then that.

**References**

A paper, 2020."""


def signature(source):
    return reference._signature(ast.parse(source).body[0])


def test_a_docstring_becomes_markdown():
    assert reference.render(DOCSTRING) == PAGE


def test_a_signature_is_that_of_the_source():
    function = "def give(a: int, b=2, *rest: str, c: float = 1.0, **more) -> str: ..."
    assert signature(function) == function.removesuffix(": ...")
    assert signature("def give(a, *, b): ...") == "def give(a, *, b)"


def test_a_class_shows_its_constructor_or_its_fields_or_its_base():
    constructor = "class A(B):\n def __init__(self, size: int, *, seed=None): ..."
    assert signature(constructor) == "class A(size: int, *, seed=None)"
    fields = "@dataclasses.dataclass(frozen=True)\nclass A:\n size: int\n seed: int = 0"
    assert signature(fields) == "class A(size: int, seed: int = 0)"
    assert signature("class A(B, C): ...") == "class A(B, C)"


def test_what_belongs_to_the_class_is_no_argument():
    fields = "@dataclass\nclass A:\n size: int\n kind: ClassVar[str] = 'a'"
    assert signature(fields) == "class A(size: int)"


def test_a_constant_shows_its_value_where_that_is_short_and_the_same_everywhere():
    def shown(source):
        return reference._assignment(ast.parse(source).body[0])

    assert shown("METHODS = ('a', 'b')") == "METHODS = ('a', 'b')"
    assert shown("Rows: Any = Sequence[int]") == "Rows: Any = Sequence[int]"
    assert shown(f"TABLES = ({'table, ' * 20})") == "TABLES"
    # Python 3.10 prints this one with a bracket more than 3.11.
    assert shown("NAMES = tuple(a for a, b in PAIRS)") == "NAMES"


def test_a_long_signature_has_a_line_for_each_argument():
    names = [f"argument_number_{n}" for n in range(6)]
    shown = signature(f"def give({', '.join(names)}): ...")
    assert shown.splitlines() == ["def give(", *(f"    {n}," for n in names), ")"]


def test_every_public_name_of_a_room_has_its_place():
    page = reference.written()["keras_bct.backfill.md"]
    for name in keras_bct.backfill.__all__:
        assert f"\n## {name}\n" in page
        assert f"| [`{name}`](#{name.lower()}) | " in page


def test_names_imported_on_first_use_are_found_too():
    page = reference.written()["keras_bct.data.md"]
    assert "\n## training_dataset\n" in page
    assert "old_class_names: Names | Mapping" in page
    # A module among the public names is shown with its functions.
    assert "\n### glyphs.load\n" in page


def test_a_class_is_shown_with_what_it_inherits_from_files_of_its_own():
    page = reference.written()["registry.md"]
    shown = re.findall(r"\n### Registry\.(\w+)\n", page)
    assert set(shown) == {
        name
        for name in dir(registry.Registry)
        if not name.startswith("_") and getattr(registry.Registry, name).__doc__
    }
    assert len(shown) == len(set(shown))


def test_what_a_public_base_has_is_shown_once():
    page = reference.written()["keras_bct.adapters.md"]
    assert "\n### ClosedForm.fit_blocks\n" in page
    assert "\n### Ridge.fit_blocks\n" not in page
    ridge = page.partition("\n## Ridge\n")[2].partition("\n## ")[0]
    assert "\nIt also has what [`ClosedForm`](#closedform) has.\n" in ridge


def test_the_committed_pages_are_up_to_date():
    written = reference.written()
    committed = {p.name: p.read_text("utf-8") for p in reference.PAGES.glob("*.md")}
    stale = {n for n in {*written, *committed} if written.get(n) != committed.get(n)}
    assert stale == set(), "make reference"
