"""`registry search`."""

from __future__ import annotations

import argparse
from pathlib import Path

from registry.cli.command import Command, open_registry
from registry.cli.output import number, print_json, table, to_plain
from registry.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alias", metavar="ALIAS", help="such as glyphs@production")
    parser.add_argument(
        "--image",
        metavar="FILE",
        action="append",
        required=True,
        help="a picture of any size and usual format; may be given again",
    )
    parser.add_argument(
        "-k", type=int, default=5, metavar="K", help="how many rows (default: 5)"
    )


def _run(args: argparse.Namespace) -> int:
    try:
        pictures = [Path(name).read_bytes() for name in args.image]
    except OSError as error:
        raise UsageError(f"The picture cannot be read: {error}.") from error
    registry = open_registry(args)
    found = registry.search(args.alias, pictures, k=args.k, ids=args.image)
    if args.json:
        print_json(
            [
                {"image": image, "hits": to_plain(hits)}
                for image, hits in zip(args.image, found, strict=True)
            ]
        )
        return 0
    for image, hits in zip(args.image, found, strict=True):
        print(image)
        rows = []
        for hit in hits:
            version = registry.version_with(hit.fingerprint)
            made_by = hit.fingerprint[:12] if version is None else version.name
            if hit.adapter is not None:
                adapter = registry.adapter_with(hit.adapter)
                made_by += f" through {adapter or hit.adapter[:12]}"
            cells = [hit.id, hit.label or "-", hit.camera or "-"]
            rows.append([*cells, number(hit.score), made_by])
        print(table(["id", "label", "camera", "score", "embedded by"], rows))
    return 0


COMMAND = Command(
    name="search",
    summary="Find the stored rows nearest to a picture.",
    details=(
        "Refused with exit code 3 when the index has vectors that the alias's version\n"
        "has no compatibility edge to, whatever their size."
    ),
    example="registry search glyphs@production --image query.png -k 5",
    add_arguments=_add_arguments,
    run=_run,
)
