"""What a command of the command line is made of."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from registry.errors import UsageError

if TYPE_CHECKING:
    from registry.progress import Reporter
    from registry.registry import Registry


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        name: How it is called.
        summary: One line for the list of commands.
        example: A command line that works.
        add_arguments: Adds its own arguments to its parser.
        run: Does it; returns the exit code.
        details: What the help says beyond the summary.
        subcommands: Commands that follow its name, for one that does nothing itself.
    """

    name: str
    summary: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None] | None = None
    run: Callable[[argparse.Namespace], int] | None = None
    details: str = ""
    subcommands: tuple[Command, ...] = ()


def add_globals(parser: argparse.ArgumentParser, *, default: bool) -> None:
    """Adds the options that every command takes, before its name or after it.

    Args:
        parser: To add them to.
        default: Whether this parser sets the defaults. A command's own parser runs
            second and must not overwrite what stood before the command's name.
    """

    def value(given: Any) -> Any:
        return given if default else argparse.SUPPRESS

    group = parser.add_argument_group("registry")
    group.add_argument(
        "--root",
        metavar="PATH",
        default=value(os.environ.get("REGISTRY_ROOT")),
        help="folder or fsspec URL of the registry (default: $REGISTRY_ROOT)",
    )
    group.add_argument(
        "--database",
        metavar="URL",
        default=value(os.environ.get("REGISTRY_DATABASE")),
        help="SQLAlchemy URL of the metadata (default: $REGISTRY_DATABASE, else "
        "registry.db in the root)",
    )
    group.add_argument(
        "--json",
        action="store_true",
        default=value(False),
        help="print one JSON document on standard output",
    )


def reporter(args: argparse.Namespace) -> Reporter | None:
    """Progress bars, but none where a program reads."""
    if args.json:
        return None
    from registry.progress import show_bytes

    return show_bytes


def root_of(args: argparse.Namespace) -> str:
    """The registry's root as the user named it.

    Raises:
        UsageError: Nothing names it.
    """
    if not args.root:
        raise UsageError(
            "Which registry? Pass --root PATH, or set REGISTRY_ROOT in the environment."
        )
    root: str = args.root
    return root


def open_registry(args: argparse.Namespace) -> Registry:
    """The registry that the options name.

    Raises:
        UsageError: Nothing names it, or there is none.
    """
    from registry.registry import Registry

    return Registry(root_of(args), database=args.database, reporter=reporter(args))
