"""`registry adapter`."""

from __future__ import annotations

import argparse
from typing import Any

from keras_bct.counted import counted
from registry.adapters.adapter import Adapter
from registry.cli.command import Command, open_registry
from registry.cli.evidence_table import evidence_table
from registry.cli.output import print_json, table, to_plain
from registry.errors import IntegrityError
from registry.registry import Registry

_NAME = "such as glyphs:1"


def _sides(registry: Registry, adapter: Adapter) -> dict[str, Any]:
    """The versions that it lies between, by name where they are registered."""
    old = registry.version_with(adapter.old_fingerprint)
    new = registry.version_with(adapter.new_fingerprint)
    return {
        "old": str(old or adapter.old_fingerprint[:12]),
        "new": str(new or adapter.new_fingerprint[:12]),
    }


def _maps(registry: Registry, adapter: Adapter) -> str:
    sides = _sides(registry, adapter)
    return (
        "{old} -> {new}" if adapter.direction == "old-to-new" else "{new} -> {old}"
    ).format(**sides)


def _add_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", metavar="DIRECTORY", help="folder with adapter.json inside"
    )


def _add(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    adapter = registry.add_adapter(args.directory)
    if args.json:
        print_json({**to_plain(adapter), **_sides(registry, adapter)})
    else:
        print(
            f"{adapter} registered in {adapter.location}: "
            f"{_maps(registry, adapter)}, {adapter.method}"
        )
    return 0


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="only adapters of this model"
    )


def _list(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    registry.check_model(args.model)
    adapters = registry.adapters(args.model)
    if args.json:
        print_json([{**to_plain(a), **_sides(registry, a)} for a in adapters])
        return 0
    if not adapters:
        print("no adapters yet; add one with `registry adapter add DIRECTORY`")
        return 0
    rows = [
        [
            str(adapter),
            _maps(registry, adapter),
            adapter.method,
            f"{adapter.input_size} -> {adapter.output_size}",
            f"{adapter.pairs:,}",
            adapter.fingerprint[:12],
            f"{adapter.created:%Y-%m-%d %H:%M}",
        ]
        for adapter in adapters
    ]
    titles = ["adapter", "maps", "method", "sizes", "pairs", "fingerprint"]
    print(table([*titles, "created (UTC)"], rows))
    return 0


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="ADAPTER", help=_NAME)


def _show(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    adapter = registry.adapter(args.name)
    evidence = registry.evidence_through(adapter)
    indices = [
        index
        for index in registry.indices()
        if adapter.fingerprint in index.adapters.values()
    ]
    if args.json:
        print_json(
            {
                "adapter": {**to_plain(adapter), **_sides(registry, adapter)},
                "evidence": evidence,
                "indices": [str(index) for index in indices],
            }
        )
        return 0
    facts = [
        ["adapter", str(adapter)],
        ["maps", _maps(registry, adapter)],
        ["fingerprint", adapter.fingerprint],
        ["method", adapter.method],
        [
            "sizes",
            f"{adapter.input_size} -> {counted(adapter.output_size, 'component')}",
        ],
        ["side information", _or_dash(adapter.side_size)],
        ["predicts its error", "yes" if adapter.has_variance else "no"],
        ["pairs", f"{adapter.pairs:,}"],
        ["created", f"{adapter.created:%Y-%m-%d %H:%M:%S} UTC"],
        ["files", adapter.location],
        ["indices", ", ".join(map(str, indices)) or "-"],
        *([f"settings.{key}", str(value)] for key, value in adapter.settings.items()),
    ]
    print(table(facts[0], facts[1:]))
    if evidence:
        print("\nevidence")
        print(evidence_table(registry, evidence))
    return 0


def _or_dash(size: int | None) -> str:
    return "-" if size is None else f"{counted(size, 'component')}"


def _add_optional_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="ADAPTER", help=f"{_NAME}; all by default"
    )


def _verify(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    adapters = [registry.adapter(args.name)] if args.name else registry.adapters()
    found = {str(adapter): registry.verify_adapter(adapter) for adapter in adapters}
    if args.json:
        print_json(found)
    else:
        for name, bad in found.items():
            print(f"{name}: {'; '.join(bad) if bad else 'ok'}")
    return IntegrityError.exit_code if any(found.values()) else 0


COMMAND = Command(
    name="adapter",
    summary="Keep maps between the embedding spaces of two versions.",
    details=(
        "An adapter is stored like a version and tied to both of its versions by\n"
        "their fingerprints. `evaluate --through` measures what it is worth, and\n"
        "`index --through` publishes a gallery's rows through it."
    ),
    example="registry adapter list glyphs",
    subcommands=(
        Command(
            name="add",
            summary="Copy an adapter into the registry.",
            details="It is there whole or not at all. Both versions are registered "
            "first.",
            example="registry adapter add out/ridge",
            add_arguments=_add_directory,
            run=_add,
        ),
        Command(
            name="list",
            summary="List adapters and the versions that they lie between.",
            example="registry adapter list glyphs",
            add_arguments=_add_model,
            run=_list,
        ),
        Command(
            name="show",
            summary="Show an adapter with its evidence and the indices made with it.",
            example="registry adapter show glyphs:1",
            add_arguments=_add_name,
            run=_show,
        ),
        Command(
            name="verify",
            summary="Read an adapter's files again and compare them.",
            details="Exit code 4 when a file is missing, changed or too many; it is "
            "named.",
            example="registry adapter verify glyphs:1",
            add_arguments=_add_optional_name,
            run=_verify,
        ),
    ),
)
