"""`registry register`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json
from registry.names import parse_version


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL[/NUMBER]", help="the model, such as glyphs"
    )
    parser.add_argument(
        "directory", metavar="DIRECTORY", help="folder with saved_model.pb inside"
    )
    parser.add_argument(
        "--predecessor",
        metavar="VERSION",
        help="the version that it was trained to work with, such as glyphs/1 or "
        "glyphs@production",
    )
    parser.add_argument(
        "--embedding-size",
        type=int,
        metavar="D",
        help="for a SavedModel that does not say it",
    )
    parser.add_argument(
        "--distance",
        choices=("cosine", "l2", "inner_product"),
        help="for a SavedModel without assets.extra/version.json",
    )


def _run(args: argparse.Namespace) -> int:
    model, number = args.model, None
    if "/" in model and not model.startswith((".", "/")):
        model, number = parse_version(model)
    version = open_registry(args).register(
        model,
        args.directory,
        number=number,
        predecessor=args.predecessor,
        embedding_size=args.embedding_size,
        distance=args.distance,
    )
    if args.json:
        print_json(version)
    else:
        print(f"{version} registered in {version.location}")
    return 0


COMMAND = Command(
    name="register",
    summary="Copy a SavedModel into the registry as a new version.",
    details="The version is there whole or not at all, whatever happens on the way.",
    example="registry register glyphs out/beta-sys --predecessor glyphs@production",
    add_arguments=_add_arguments,
    run=_run,
)
