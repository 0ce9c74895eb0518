"""`registry gc`."""

from __future__ import annotations

import argparse

from keras_bct.counted import counted
from registry.cli.command import Command, open_registry
from registry.cli.output import print_json, table


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be removed"
    )
    parser.add_argument(
        "--unserved-indices",
        action="store_true",
        help="delete the indices, too, that no alias serves or would serve after a "
        "rollback",
    )


def _run(args: argparse.Namespace) -> int:
    found = open_registry(args).collect_garbage(
        dry_run=args.dry_run, unserved_indices=args.unserved_indices
    )
    if args.json:
        print_json(found)
        return 0
    done = "would be removed" if args.dry_run else "removed"
    if found:
        rows = [
            [
                item.location,
                f"{item.size:,}",
                item.why,
                done if item.removed else "stays",
            ]
            for item in found
        ]
        print(table(["what", "bytes", "why", ""], rows))
    freed = sum(item.size for item in found if item.removed)
    print(f"{counted(freed, 'byte')} {done}")
    return 0


COMMAND = Command(
    name="gc",
    summary="Remove files that nothing of the registry names.",
    details=(
        "They are what processes left that were killed. What lies in the registry's\n"
        "folders that it knows nothing of is said, and stays."
    ),
    example="registry gc --dry-run",
    add_arguments=_add_arguments,
    run=_run,
)
