"""`registry evaluate`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.evidence_table import evidence_document, evidence_table
from registry.cli.output import print_json


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("new", metavar="NEW", help="the version that embeds queries")
    parser.add_argument(
        "--against",
        metavar="OLD",
        required=True,
        help="the version that made the gallery",
    )
    parser.add_argument(
        "--protocol", metavar="FILE", required=True, help="what to measure, and on what"
    )
    parser.add_argument(
        "--through",
        metavar="ADAPTER",
        help="the gallery's vectors go through it first (glyphs:1)",
    )
    parser.add_argument(
        "--paragon",
        metavar="VERSION",
        help="the version at the top of the gain; without it there is no gain",
    )


def _run(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    evidence = registry.evaluate(
        args.new, args.against, args.protocol, args.paragon, through=args.through
    )
    if args.json:
        print_json(evidence_document(evidence))
        return 0
    print(evidence_table(registry, [evidence]))
    print(f"the gate of {evidence.protocol_name} answers: {evidence.answer}")
    for reason in evidence.reasons:
        print(f"  - {reason}")
    for warning in evidence.warnings:
        print(f"  ! {warning}")
    return 0


COMMAND = Command(
    name="evaluate",
    summary="Measure a version against another one and store the evidence.",
    details=(
        "A compatibility edge is written when the protocol's gate passes. With\n"
        "--through, M(new, h(old)) is compared with M(old, old), and the edge holds\n"
        "for vectors that went through that adapter."
    ),
    example="registry evaluate glyphs/3 --against glyphs/1 --protocol kanji.yaml "
    "--paragon glyphs/2",
    add_arguments=_add_arguments,
    run=_run,
)
