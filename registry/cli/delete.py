"""`registry delete`."""

from __future__ import annotations

import argparse

from keras_bct.counted import counted
from registry.cli.command import Command, open_registry
from registry.cli.output import print_json
from registry.deletion.store import Deletion
from registry.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a version (glyphs/3), alias (glyphs@canary), index (glyphs#2) or adapter "
        "(glyphs:1)",
    )
    parser.add_argument(
        "--gallery", metavar="GALLERY", help="the gallery, with all its rows"
    )
    parser.add_argument(
        "--with-evidence",
        action="store_true",
        help="delete the evidence, too, that was measured with it, unless it let an "
        "alias move",
    )
    parser.add_argument("--reason", metavar="TEXT", help="of an alias, for its history")
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be deleted"
    )


def _run(args: argparse.Namespace) -> int:
    deletion = _delete(args)
    if args.json:
        print_json(deletion)
        return 0
    done = "would be deleted (--dry-run)" if args.dry_run else "is deleted"
    print(f"{deletion.name} {done}: {counted(deletion.size, 'byte')}")
    if deletion.evidence:
        print(f"  with evidence {', '.join(map(str, deletion.evidence))}")
    return 0


def _delete(args: argparse.Namespace) -> Deletion:
    if (args.name is None) == (args.gallery is None):
        raise UsageError("Name one thing to delete: NAME, or --gallery GALLERY.")
    registry = open_registry(args)
    terms = {"with_evidence": args.with_evidence, "dry_run": args.dry_run}
    if args.gallery is not None:
        return registry.delete_gallery(args.gallery, **terms)
    if "@" in args.name:
        return registry.delete_alias(
            args.name, reason=args.reason, dry_run=args.dry_run
        )
    if "#" in args.name:
        return registry.delete_index(args.name, dry_run=args.dry_run)
    if ":" in args.name:
        return registry.delete_adapter(args.name, **terms)
    if args.name in registry.galleries():
        raise UsageError(
            f"{args.name} is a gallery; to delete it with all its rows: "
            f"--gallery {args.name}."
        )
    if not args.name.rpartition("/")[2].isdigit():
        raise UsageError(
            "NAME should be a version (glyphs/3), an alias (glyphs@canary), an index "
            f"(glyphs#2) or an adapter (glyphs:1). Received: {args.name!r}. A gallery "
            "is named by --gallery."
        )
    return registry.delete_version(args.name, **terms)


COMMAND = Command(
    name="delete",
    summary="Delete a version, alias, index, adapter or gallery that nothing uses.",
    details=(
        "Refused with exit code 3 when it is in use or in evidence, and by what is\n"
        "said. Its files are gone then; history still names it, and its number is not\n"
        "used again."
    ),
    example="registry delete glyphs/2 --dry-run",
    add_arguments=_add_arguments,
    run=_run,
)
