"""`registry index`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json
from registry.names import parse_alias


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gallery", metavar="GALLERY", help="such as kanji/gallery")
    parser.add_argument(
        "--serve",
        metavar="ALIAS",
        required=True,
        help="the alias that serves it, such as glyphs@production",
    )


def _run(args: argparse.Namespace) -> int:
    model, alias = parse_alias(args.serve)
    index = open_registry(args).publish_index(args.gallery, model, alias)
    if args.json:
        print_json(index)
    else:
        print(
            f"{args.serve} serves {index}: {index.rows:,} rows of {args.gallery}, "
            f"recall@10 {index.recall_at_10:.4f}"
        )
    return 0


COMMAND = Command(
    name="index",
    summary="Build a search index of a gallery's stored vectors and serve it.",
    details=(
        "Embeds nothing. Refused with exit code 3 when the gallery has vectors that\n"
        "the alias's version has no compatibility edge to."
    ),
    example="registry index kanji/gallery --serve glyphs@production",
    add_arguments=_add_arguments,
    run=_run,
)
