"""`registry serving-config`."""

from __future__ import annotations

import argparse

from registry.cli.command import Command, open_registry
from registry.cli.output import print_json


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _run(args: argparse.Namespace) -> int:
    config = open_registry(args).serving_config()
    if args.json:
        print_json({"model_config_file": config})
    else:
        print(config, end="")
    return 0


COMMAND = Command(
    name="serving-config",
    summary="Write TensorFlow Serving's model_config_list from the aliases.",
    details=(
        "Serve only through it: by default TensorFlow Serving takes the newest\n"
        "number, promoted or refused. Labels of versions that are still loading need\n"
        "--allow_version_labels_for_unavailable_models."
    ),
    example="registry serving-config > models.config\n"
    "  tensorflow_model_server --model_config_file=models.config",
    add_arguments=_add_arguments,
    run=_run,
)
