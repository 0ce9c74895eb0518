"""`registry rollback`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alias", metavar="ALIAS", help="such as glyphs@production")
    parser.add_argument(
        "--index",
        metavar="INDEX",
        help="serve this one in place of the earlier one (glyphs#4)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="even over vectors that the earlier version cannot search, and to an "
        "index with rows that were removed",
    )
    parser.add_argument("--reason", metavar="TEXT", help="for the alias's history")


def _run(args: argparse.Namespace) -> int:
    move = open_registry(args).rollback(
        args.alias, index=args.index, force=args.force, reason=args.reason
    )
    if args.json:
        print_json(move)
    else:
        print(
            f"{args.alias}: {move.from_version} -> {move.to_version} "
            f"(undoes move {move.undoes})"
        )
    return 0


COMMAND = Command(
    name="rollback",
    summary="Undo the last move of an alias: version, index and protocol together.",
    details=(
        "Refused with exit code 3 when vectors were added since that the earlier\n"
        "version has no compatibility edge to, or rows were removed that its index\n"
        "still has."
    ),
    example="registry rollback glyphs@production --reason 'complaints since noon'",
    add_arguments=_add_arguments,
    run=_run,
)
