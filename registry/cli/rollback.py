"""`registry rollback`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from registry.cli.command import Command, open_registry
from registry.cli.doubts import doubts_of
from registry.cli.output import print_json, to_plain
from registry.errors import GateRefusedError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alias", metavar="ALIAS", help="such as glyphs@production")
    parser.add_argument(
        "--to",
        metavar="VERSION",
        help="go back to this version (glyphs/1), with the index and the protocol that "
        "the alias had there; without, the last move is undone, which may have been "
        "that of an index alone",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only say what it would do and what speaks against it",
    )
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
    registry = open_registry(args)
    plan = registry.plan_rollback(args.alias, to=args.to, index=args.index)
    if args.dry_run:
        if args.json:
            print_json(plan)
        else:
            print(f"{plan}\nnothing was changed (--dry-run)")
            _print(plan.in_the_way, "not without --force:")
        return 0 if not plan.in_the_way or args.force else GateRefusedError.exit_code
    if not args.json and (args.force or not plan.in_the_way):
        # Before it is done: reading the files again may take minutes.
        print(plan, flush=True)
    move = registry.rollback(
        args.alias, to=args.to, index=args.index, force=args.force, reason=args.reason
    )
    if args.json:
        doubts = doubts_of(registry, move)
        print_json({**to_plain(move), "left_behind": plan.in_the_way, "doubts": doubts})
    else:
        print(f"done (move {move.id})")
        _print(plan.in_the_way, "left behind:")
        for doubt in doubts_of(registry, move):
            print(f"  ! {doubt}")
    return 0


def _print(sentences: Sequence[str], title: str) -> None:
    if sentences:
        print(title)
    for sentence in sentences:
        print(f"  - {sentence}")


COMMAND = Command(
    name="rollback",
    summary="Roll an alias back: version, index and protocol together.",
    details=(
        "Undoes the last move, or with --to all moves since the alias left a version,\n"
        "and says beforehand what it will do. Refused with exit code 3 when vectors\n"
        "were added since that the earlier version has no compatibility edge to, or\n"
        "rows were removed that its index still has; it says the ways out."
    ),
    example="registry rollback glyphs@production --to glyphs/1 --reason 'complaints'",
    add_arguments=_add_arguments,
    run=_run,
)
