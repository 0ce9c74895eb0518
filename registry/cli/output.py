"""How results and errors are printed, for people and for programs."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from registry.errors import GateRefusedError, IntegrityError, RegistryError


def to_plain(value: Any) -> Any:
    """Turns entities into what JSON can hold.

    >>> to_plain({"a": (1, None)})
    {'a': [1, None]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {
            field.name: to_plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.repr
        }
        # What commands take as its name comes first: glyphs/3, glyphs#2.
        name = getattr(value, "name", None)
        return plain if name is None else {"name": name, **plain}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def print_json(value: Any) -> None:
    """Prints one JSON document, in ASCII: no encoding of the output can spoil it."""
    print(json.dumps(to_plain(value), indent=2, allow_nan=False))


def print_error(args: argparse.Namespace, error: RegistryError) -> None:
    """Prints an error for whoever is there: JSON for programs, text for people."""
    print(f"registry: {error}", file=sys.stderr)
    if not args.json:
        return
    print_json(error_document(error))


def error_document(error: RegistryError) -> dict[str, Any]:
    """What `--json` prints in place of a result."""
    content: dict[str, Any] = {
        "kind": type(error).__name__,
        "exit_code": error.exit_code,
        "message": str(error),
    }
    if isinstance(error, GateRefusedError):
        content["reasons"] = error.reasons
    if isinstance(error, IntegrityError):
        content["files"] = error.files
    return {"error": content}


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns that stand below each other.

    >>> print(table(["a", "b"], [["1", "22"], ["333", "4"]]))
    a    b
    1    22
    333  4

    What would break a line or command the terminal is shown as Python writes it.
    """
    lines = [[_visible(cell) for cell in line] for line in (titles, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(titles))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def interval(ends: tuple[float, float] | None, form: str = ".4f") -> str:
    """An interval in brackets; nothing where there is none.

    >>> interval((-0.1, 0.25), "+.2f"), interval(None)
    ('[-0.10, +0.25]', '')
    """
    return "" if ends is None else f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def number(value: float | None, digits: int = 4) -> str:
    """A measured number; a dash where there is none.

    >>> number(0.87654), number(None)
    ('0.8765', '-')
    """
    return "-" if value is None else f"{value:.{digits}f}"
