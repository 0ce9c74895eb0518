"""`registry lineage`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="such as glyphs")


def _run(args: argparse.Namespace) -> int:
    lineage = open_registry(args).lineage(args.model)
    if args.json:
        print_json(lineage)
    else:
        print(lineage.render())
    return 0


COMMAND = Command(
    name="lineage",
    summary="Show the chain of a model's versions and what is proven between them.",
    details="Edges are never composed: 3 -> 2 and 2 -> 1 make none 3 -> 1.",
    example="registry lineage glyphs",
    add_arguments=_add_arguments,
    run=_run,
)
