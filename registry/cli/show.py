"""`registry show`."""

from __future__ import annotations

import argparse

from keras_bct.counted import counted
from registry.cli.command import Command, open_registry
from registry.cli.evidence_table import evidence_document, evidence_table
from registry.cli.output import print_json, table, to_plain
from registry.errors import UsageError
from registry.registry import Registry
from registry.versions.version import Version


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="a model (glyphs), version (glyphs/3), alias (glyphs@prod) or index "
        "(glyphs#2)",
    )


def _run(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    if "@" in args.name or "/" in args.name:
        return _show_version(registry, args)
    if "#" in args.name:
        return _show_index(registry, args)
    if ":" in args.name:
        raise UsageError(f"An adapter is shown by `registry adapter show {args.name}`.")
    return _show_model(registry, args)


def _show_model(registry: Registry, args: argparse.Namespace) -> int:
    registry.check_model(args.name)
    aliases = registry.aliases(args.name)
    content = {
        "model": args.name,
        "versions": [str(version) for version in registry.versions(args.name)],
        "aliases": {alias.name: str(alias.version) for alias in aliases},
        "adapters": [str(adapter) for adapter in registry.adapters(args.name)],
        "galleries": registry.galleries(args.name),
        "indices": [str(index) for index in registry.indices(args.name)],
    }
    if args.json:
        print_json(content)
        return 0
    standing = [
        f"{alias.name} at {alias.version}"
        + ("" if alias.index is None else f" with {alias.index}")
        for alias in aliases
    ]
    facts = [
        [title, ", ".join(standing if title == "aliases" else names) or "-"]
        for title, names in content.items()
        if title != "model"
    ]
    print(table(["model", args.name], facts))
    return 0


def _show_index(registry: Registry, args: argparse.Namespace) -> int:
    index = registry.index(args.name)
    serving = [str(a) for a in registry.aliases(index.model) if a.index == index]
    if args.json:
        print_json({**to_plain(index), "aliases": serving})
        return 0
    held = [
        f"{rows:,} by {registry.version_with(fingerprint) or fingerprint[:12]}"
        for fingerprint, rows in index.fingerprints.items()
    ]
    facts = [
        ["aliases", ", ".join(serving) or "-"],
        ["gallery", f"{index.gallery}, generation {index.generation}"],
        ["rows", f"{index.rows:,}: {', '.join(held)}"],
        [
            "compares",
            f"{counted(index.first_components, 'component')}, {index.distance}",
        ],
        ["recall@10", f"{index.recall_at_10:.4f}"],
        ["created", f"{index.created:%Y-%m-%d %H:%M:%S} UTC"],
        ["files", index.location],
    ]
    print(table(["index", str(index)], facts))
    return 0


def _show_version(registry: Registry, args: argparse.Namespace) -> int:
    alias = registry.alias(args.name) if "@" in args.name else None
    version = registry.version(args.name) if alias is None else alias.version
    evidence = registry.evidence_of(version)
    history = [] if alias is None else registry.history(args.name)
    aliases = [a.name for a in registry.aliases(version.model) if a.version == version]
    unchecked = []
    if alias is not None and alias.index is not None:
        unchecked = registry.unchecked(alias.index.gallery)
    if args.json:
        content = {"version": to_plain(version), "aliases": aliases}
        content["evidence"] = [evidence_document(item) for item in evidence]
        if alias is not None:
            content["alias"] = to_plain(alias)
            content["history"] = to_plain(history)
            content["unchecked"] = unchecked
        print_json(content)
        return 0
    facts = [
        ["version", str(version)],
        ["aliases", ", ".join(aliases) or "-"],
        ["fingerprint", version.fingerprint],
        [
            "embedding",
            f"{counted(version.embedding_size, 'component')}, {version.distance}",
        ],
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
    for doubt in unchecked:
        print(f"  ! {doubt}")
    if evidence:
        print("\nevidence")
        print(evidence_table(registry, evidence))
        for item in evidence:
            for warning in item.warnings:
                print(f"  ! evidence {item.id}: {warning}")
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
    summary="Show a model, a version with its evidence, an alias with its history.",
    details="An index is shown too; an adapter by `registry adapter show`.",
    example="registry show glyphs@production",
    add_arguments=_add_arguments,
    run=_run,
)
