"""`registry show`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.evidence_table import evidence_table
from registry.cli.output import print_json, table, to_plain
from registry.version import Version


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="VERSION|ALIAS", help="glyphs/3 or glyphs@prod")


def _run(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    alias = registry.alias(args.name) if "@" in args.name else None
    version = registry.version(args.name) if alias is None else alias.version
    evidence = registry.evidence_of(version)
    history = [] if alias is None else registry.history(args.name)
    aliases = [a.name for a in registry.aliases(version.model) if a.version == version]
    if args.json:
        content = {"version": to_plain(version), "aliases": aliases}
        content["evidence"] = to_plain(evidence)
        if alias is not None:
            content["alias"] = to_plain(alias)
            content["history"] = to_plain(history)
        print_json(content)
        return 0
    facts = [
        ["version", str(version)],
        ["aliases", ", ".join(aliases) or "-"],
        ["fingerprint", version.fingerprint],
        ["embedding", f"{version.embedding_size} components, {version.distance}"],
        ["embeds by", _parts(version)],
        ["predecessor", version.predecessor or "-"],
        ["created", f"{version.created:%Y-%m-%d %H:%M:%S} UTC"],
        ["files", version.location],
        *([f"training.{key}", str(value)] for key, value in version.training.items()),
    ]
    if alias is not None:
        facts += [
            ["served index", "-" if alias.index is None else str(alias.index)],
            ["protocol", alias.protocol or "-"],
        ]
    print(table(facts[0], facts[1:]))
    if evidence:
        print("\nevidence")
        print(evidence_table(registry, evidence))
    if history:
        print(f"\nhistory of {alias}")
        print(
            table(
                ["move", "action", "from", "to", "index", "when (UTC)", "reason"],
                [
                    [
                        str(move.id),
                        move.action,
                        move.from_version or "-",
                        move.to_version,
                        move.to_index or "-",
                        f"{move.created:%Y-%m-%d %H:%M}",
                        move.reason or "-",
                    ]
                    for move in history
                ],
            )
        )
        for change in filter(None, (move.protocol_change for move in history)):
            print(change)
    return 0


def _parts(version: Version) -> str:
    parts = version.parts
    if parts.signature is None:
        return "-"
    return f"{parts.signature}: {parts.input} -> {parts.output}"


COMMAND = Command(
    name="show",
    summary="Show a version or an alias with its evidence and history.",
    example="registry show glyphs@production",
    add_arguments=_add_arguments,
    run=_run,
)
