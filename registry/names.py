"""Names of models, aliases and galleries, and how versions are written down."""

from __future__ import annotations

import re

from registry.errors import NameRefusedError, UsageError

MAX_LENGTH = 100
"""Longest name, in characters. File systems stop at 255 bytes."""

ADAPTERS, GALLERIES, INDICES = "adapters", "galleries", "indices"
RESERVED = frozenset({ADAPTERS, GALLERIES, INDICES})
"""Entries of the root that are no models; SQLite's begin with `registry.db`."""

LARGEST_NUMBER = 999_999_999
"""Of a version, index or adapter. Every database's integers hold nine digits."""

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_name(name: str, what: str = "model") -> str:
    """Returns `name` when it is fit to be a folder, a URL part and a label.

    Args:
        name: The name to look at.
        what: What is being named, for the message.

    Raises:
        NameRefusedError: The name is empty, too long, reserved, made of digits
            only, or has other characters than letters, digits, `.`, `_`, `-`.

    >>> check_name("faces-v2")
    'faces-v2'
    """
    rule = (
        f"{what.capitalize()} names have 1 to {MAX_LENGTH} letters, digits, '.', '_' "
        "or '-', start with a letter or digit, and are not numbers."
    )
    if len(name) > MAX_LENGTH:
        raise NameRefusedError(
            f"{rule} Received {len(name)} characters, starting {name[:20]!r}."
        )
    if (
        not _NAME.fullmatch(name)
        or ".." in name
        or name.endswith(".")
        or name.isdigit()
    ):
        raise NameRefusedError(f"{rule} Received: {name!r}.")
    lower = name.lower()
    if what == "model" and (lower in RESERVED or lower.startswith("registry.db")):
        raise NameRefusedError(
            f"The name {name!r} is reserved for the registry's own files; "
            "choose another model name."
        )
    return name


def check_gallery_name(name: str) -> str:
    """Returns `name` when each of its parts between slashes is a fit name.

    >>> check_gallery_name("kanji/gallery")
    'kanji/gallery'
    """
    if len(name) > 4 * MAX_LENGTH:
        raise NameRefusedError(
            f"A gallery's name with its folders has up to {4 * MAX_LENGTH} characters. "
            f"Received {len(name)}, starting {name[:20]!r}."
        )
    for part in name.split("/"):
        check_name(part, "gallery")
    return name


def parse_version(text: str) -> tuple[str, int]:
    """Splits `MODEL/NUMBER`.

    >>> parse_version("glyphs/3")
    ('glyphs', 3)
    """
    return _numbered(text, "/", "a version as MODEL/NUMBER")


def parse_alias(text: str) -> tuple[str, str]:
    """Splits `MODEL@ALIAS`.

    >>> parse_alias("glyphs@production")
    ('glyphs', 'production')
    """
    model, at, alias = text.partition("@")
    if not at:
        raise UsageError(
            "Expected an alias as MODEL@ALIAS, such as 'glyphs@production'. "
            f"Received: {text!r}."
        )
    return check_name(model), check_name(alias, "alias")


def parse_index(text: str) -> tuple[str, int]:
    """Splits `MODEL#NUMBER`.

    >>> parse_index("glyphs#2")
    ('glyphs', 2)
    """
    return _numbered(text, "#", "an index as MODEL#NUMBER")


def parse_adapter(text: str) -> tuple[str, int]:
    """Splits `MODEL:NUMBER`.

    >>> parse_adapter("glyphs:1")
    ('glyphs', 1)
    """
    return _numbered(text, ":", "an adapter as MODEL:NUMBER")


def _numbered(text: str, mark: str, what: str) -> tuple[str, int]:
    """Splits a model's name from the number behind the mark."""
    model, found, number = text.partition(mark)
    if not found or not _NUMBER.fullmatch(number):
        raise UsageError(
            f"Expected {what}, such as 'glyphs{mark}3'. Received: {text!r}."
        )
    return check_name(model), int(number)
