"""`registry promote`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.doubts import doubts_of
from registry.cli.output import print_json, to_plain


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("version", metavar="VERSION", help="such as glyphs/3")
    parser.add_argument(
        "--to", metavar="ALIAS", required=True, help="such as production"
    )
    parser.add_argument(
        "--require-compatible",
        action="store_true",
        help="only when the gate passes against every version whose vectors are "
        "searched from then on",
    )
    parser.add_argument(
        "--protocol",
        metavar="FILE",
        help="for a new alias, or in place of the alias's own",
    )
    parser.add_argument(
        "--confidence", type=float, metavar="C", help="more than the protocol's own"
    )
    parser.add_argument(
        "--min-gain", type=float, metavar="G", help="more than the protocol's own"
    )
    parser.add_argument(
        "--index", metavar="INDEX", help="serve this index from now on (glyphs#2)"
    )
    parser.add_argument(
        "--force", action="store_true", help="do not ask the gate; recorded so"
    )
    parser.add_argument("--reason", metavar="TEXT", help="for the alias's history")


def _run(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    move = registry.promote(
        args.version,
        args.to,
        require_compatible=args.require_compatible,
        protocol=args.protocol,
        confidence=args.confidence,
        min_gain=args.min_gain,
        index=args.index,
        force=args.force,
        reason=args.reason,
    )
    if args.json:
        print_json(move and {**to_plain(move), "doubts": doubts_of(registry, move)})
    elif move is None:
        print(f"{args.to} stands at {args.version} already; nothing was changed")
    else:
        print(
            f"{move.model}@{move.alias}: {move.from_version or 'new'} -> "
            f"{move.to_version} ({move.action}, move {move.id})"
        )
        if move.protocol_change is not None:
            print(f"  ! {move.protocol_change}")
        for doubt in doubts_of(registry, move):
            print(f"  ! {doubt}")
    return 0


COMMAND = Command(
    name="promote",
    summary="Move an alias to a version, when the gate lets it.",
    details=(
        "Exit code 3 when it does not: each reason is printed with its numbers and\n"
        "the command that would measure missing evidence, and nothing is changed."
    ),
    example="registry promote glyphs/3 --to production --require-compatible",
    add_arguments=_add_arguments,
    run=_run,
)
