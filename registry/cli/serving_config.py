"""`registry serving-config`."""

from __future__ import annotations

import argparse
import sys

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json
from registry.errors import IntegrityError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _run(args: argparse.Namespace) -> int:
    registry = open_registry(args)
    config = registry.serving_config()
    gone = registry.aliases_without_files()
    if args.json:
        left_out = [str(alias) for alias in gone]
        print_json({"model_config_file": config, "left_out": left_out})
    else:
        print(config, end="")
    for alias in gone:
        print(
            f"registry: {alias} is left out, since the files of {alias.version} are "
            f"gone from {alias.version.location}: put them back from a copy, or move "
            f"the alias with `{registry.command} rollback {alias}`.",
            file=sys.stderr,
        )
    return IntegrityError.exit_code if gone else 0


COMMAND = Command(
    name="serving-config",
    summary="Write TensorFlow Serving's model_config_list from the aliases.",
    details=(
        "Serve only through it: by default TensorFlow Serving takes the newest\n"
        "number, promoted or refused. Labels of versions that are still loading need\n"
        "--allow_version_labels_for_unavailable_models. An alias whose version's\n"
        "files are gone is left out, and the exit code is 4."
    ),
    example="registry serving-config > models.config\n"
    "  tensorflow_model_server --model_config_file=models.config",
    add_arguments=_add_arguments,
    run=_run,
)
