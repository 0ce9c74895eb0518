"""`registry verify`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json
from registry.errors import IntegrityError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="only what belongs to this model"
    )


def _run(args: argparse.Namespace) -> int:
    found = open_registry(args).verify(args.model)
    if args.json:
        print_json(found)
    else:
        for name, bad in found.items():
            print(f"{name}: {'; '.join(bad) if bad else 'ok'}")
    return IntegrityError.exit_code if any(found.values()) else 0


COMMAND = Command(
    name="verify",
    summary="Read all files again and compare them with what was registered.",
    details="Exit code 4 when a file is missing, changed or too many; it is named.",
    example="registry verify glyphs",
    add_arguments=_add_arguments,
    run=_run,
)
