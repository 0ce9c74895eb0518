"""`registry init`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, reporter, root_of
from registry.cli.output import print_json


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _run(args: argparse.Namespace) -> int:
    from registry.registry import Registry

    registry = Registry.init(
        root_of(args), database=args.database, reporter=reporter(args)
    )
    found = {
        "root": registry.root.url,
        "database": str(registry.database),
        "schema": registry.database.revision(),
    }
    if args.json:
        print_json(found)
    else:
        print(f"registry in {found['root']} is ready (schema {found['schema']})")
    return 0


COMMAND = Command(
    name="init",
    summary="Make a registry, or bring an older one to this release's schema.",
    example="registry --root /srv/registry init",
    add_arguments=_add_arguments,
    run=_run,
)
