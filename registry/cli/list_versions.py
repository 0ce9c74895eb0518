"""`registry list`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json, table, to_plain


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="only versions of this model"
    )


def _run(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    registry.check_model(args.model)
    versions = registry.versions(args.model)
    standing: dict[str, list[str]] = {}
    for alias in registry.aliases(args.model):
        standing.setdefault(str(alias.version), []).append(alias.name)
    if args.json:
        print_json(
            [
                {**to_plain(version), "aliases": standing.get(str(version), [])}
                for version in versions
            ]
        )
        return 0
    if not versions:
        print("no versions yet; add one with `registry register MODEL DIRECTORY`")
        return 0
    rows = [
        [
            str(version),
            ", ".join(standing.get(str(version), [])) or "-",
            str(version.embedding_size),
            version.distance,
            version.predecessor or "-",
            version.fingerprint[:12],
            f"{version.created:%Y-%m-%d %H:%M}",
        ]
        for version in versions
    ]
    titles = ["version", "alias", "size", "distance", "predecessor", "fingerprint"]
    print(table([*titles, "created (UTC)"], rows))
    return 0


COMMAND = Command(
    name="list",
    summary="List versions and where the aliases stand.",
    example="registry list glyphs",
    add_arguments=_add_arguments,
    run=_run,
)
