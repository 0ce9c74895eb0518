"""`registry index`."""

from __future__ import annotations

import argparse
from pathlib import Path

from keras_bct.counted import counted
from registry.cli.command import Command, open_registry
from registry.cli.output import print_json, to_plain
from registry.indices.manifest import read_manifest
from registry.names import parse_alias


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gallery", metavar="GALLERY", help="such as kanji/gallery")
    parser.add_argument(
        "--serve",
        metavar="ALIAS",
        help="the alias that serves it, such as glyphs@production; without, the index "
        "is only built, for `promote --index`",
    )
    parser.add_argument(
        "--through",
        metavar="ADAPTER",
        action="append",
        default=[],
        help="rows of its old version go through it (glyphs:1); may be given again",
    )
    parser.add_argument(
        "--leave-out",
        metavar="VERSION",
        action="append",
        default=[],
        help="the index does not hold its rows, so they are not found (glyphs/2); may "
        "be given again",
    )
    parser.add_argument(
        "--first-components",
        type=int,
        metavar="K",
        help="compare so many components; by default as many as the protocol of the "
        "alias says, else all",
    )


def _run(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    terms = {
        "through": args.through,
        "leave_out": args.leave_out,
        "first_components": args.first_components,
    }
    if args.serve is None:
        index = registry.build_index(args.gallery, **terms)
    else:
        model, alias = parse_alias(args.serve)
        index = registry.publish_index(args.gallery, model, alias, **terms)
    manifest, _ = read_manifest(Path(index.location))
    if args.json:
        search = ("method", "leaves_to_search", "reorder", "tree_recall_at_10")
        print_json(
            {
                **to_plain(index),
                **{name: getattr(manifest, name) for name in search},
                "doubts": registry.unchecked(args.gallery),
            }
        )
        return 0
    rows = f"{counted(index.rows, 'row')} of {args.gallery}"
    if args.through:
        rows += f" through {', '.join(args.through)}"
    if args.leave_out:
        rows += f" without those of {', '.join(args.leave_out)}"
    said = f"{index} is built" if args.serve is None else f"{args.serve} serves {index}"
    print(f"{said}: {rows}, recall@10 {index.recall_at_10:.4f} ({manifest.how()})")
    for doubt in registry.unchecked(args.gallery):
        print(f"  ! {doubt}")
    return 0


COMMAND = Command(
    name="index",
    summary="Build a search index of a gallery's stored vectors, and serve it.",
    details=(
        "Embeds nothing, and leaves the gallery as it is. Adapters of the index that\n"
        "the alias serves are kept. Refused with exit code 3 when the gallery has\n"
        "vectors that the alias's version has no compatibility edge to in the way\n"
        "that the index holds them."
    ),
    example="registry index kanji/gallery --serve glyphs@production",
    add_arguments=_add_arguments,
    run=_run,
)
