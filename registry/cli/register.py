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
    for part, what in (
        ("signature", "signature that embeds"),
        ("input", "input that takes the pictures"),
        ("output", "output that is the embedding"),
    ):
        parser.add_argument(
            f"--{part}",
            metavar="NAME",
            help=f"the {what}, where it is not clear which; kept with the version",
        )
    parser.add_argument(
        "--embedding-size",
        type=int,
        metavar="D",
        help="refuse a SavedModel whose embedding has another size",
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
        signature=args.signature,
        input=args.input,
        output=args.output,
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
    details=(
        "The SavedModel has to embed two made pictures first. The version is there\n"
        "whole or not at all, whatever happens on the way."
    ),
    example="registry register glyphs out/beta-sys --predecessor glyphs@production",
    add_arguments=_add_arguments,
    run=_run,
)
