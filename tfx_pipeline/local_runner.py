"""Runs the pipeline on this machine: `python -m tfx_pipeline.local_runner RUN.yaml`.

Exit codes are the registry's: 0 when the model was blessed and promoted, 2 when the run
could not have succeeded and was not begun, 3 when the gate refused the model (it is
registered all the same, and the alias has not moved), 1 when a component failed.
"""

import argparse
import contextlib
import dataclasses
import logging
import os
import sys
import time
from collections.abc import Iterator

import absl.logging
from tfx import v1 as tfx
from tfx.dsl.compiler.compiler import Compiler
from tfx.orchestration import metadata
from tfx.types.standard_artifacts import PushedModel

from keras_bct.command_line import escape_what_cannot_be_printed
from keras_bct.configuration import read_yaml
from registry import UsageError
from tfx_pipeline.pipeline import UNCACHED, PipelineConfiguration, create_pipeline
from tfx_pipeline.preflight import check_run

EXIT_REFUSED = 3


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        version: The registered version, `name/number`.
        promoted: Whether the alias was moved to it.
        reasons: The gate's reasons.
    """

    version: str
    promoted: bool
    reasons: tuple[str, ...]


@contextlib.contextmanager
def _progress(components: int) -> Iterator[None]:
    """Says which component runs and how long each took, out of TFX's own log."""
    begun = 0
    since = 0.0

    def say(record: logging.LogRecord) -> bool:
        nonlocal begun, since
        if record.msg == "Component %s is running.":
            begun += 1
            since = time.monotonic()
            name = record.getMessage().split()[1]
            print(f"[{begun}/{components}] {name}", flush=True)
        elif record.msg == "Component %s is finished.":
            print(f"      {time.monotonic() - since:.1f} s", flush=True)
        # TFX's own driver asks MLMD what this MLMD does not know, many times a run.
        return record.levelno >= logging.WARNING and "property_predicate" not in (
            record.getMessage()
        )

    verbosity = absl.logging.get_verbosity()
    log = absl.logging.get_absl_logger()
    log.addFilter(say)
    # By absl's own function: TensorFlow's export saves and restores what that set.
    absl.logging.set_verbosity(absl.logging.INFO)
    try:
        yield
    finally:
        absl.logging.set_verbosity(verbosity)
        log.removeFilter(say)


def run(configuration: PipelineConfiguration) -> Outcome:
    """Runs the pipeline once, component after component, in this process.

    Args:
        configuration: The run.

    Returns:
        What it came to.

    Raises:
        UsageError: The run cannot succeed, and nothing was begun.
    """
    pipeline = create_pipeline(configuration)
    os.makedirs(configuration.root, exist_ok=True)
    compiled = Compiler().compile(pipeline)
    uncached = {component.__name__ for component in UNCACHED}
    for node in compiled.nodes:
        if node.pipeline_node.node_info.id in uncached:
            options = node.pipeline_node.execution_options
            options.caching_options.enable_cache = False

    with _progress(len(compiled.nodes)):
        tfx.orchestration.LocalDagRunner().run_with_ir(compiled)

    with metadata.Metadata(pipeline.metadata_connection_config) as mlmd:
        pushed = _latest(mlmd, PushedModel.TYPE_NAME)
    return Outcome(
        version=pushed["pushed_version"].string_value,
        promoted=bool(pushed["pushed"].int_value),
        reasons=tuple(pushed["reasons"].string_value.splitlines()),
    )


def _latest(mlmd: metadata.Metadata, type_name: str):  # type: ignore[no-untyped-def]
    artifacts = mlmd.store.get_artifacts_by_type(type_name)
    return max(artifacts, key=lambda artifact: artifact.id).custom_properties


def main() -> None:
    """Reads the run's YAML file, runs it, and exits with its outcome."""
    parser = argparse.ArgumentParser(
        prog="python -m tfx_pipeline.local_runner",
        description="Train, gate, promote and index one version, locally.",
        epilog="example: python -m tfx_pipeline.local_runner examples/kanji/phi1.yaml",
    )
    parser.add_argument("run", help="YAML file of a PipelineConfiguration")
    arguments = parser.parse_args()
    escape_what_cannot_be_printed()
    try:
        configuration = read_yaml(PipelineConfiguration, arguments.run)
        check_run(configuration)
    except (OSError, ValueError, UsageError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        sys.exit(UsageError.exit_code)
    outcome = run(configuration)
    if not outcome.promoted:
        print(f"{outcome.version} was not promoted:", *outcome.reasons, sep="\n  ")
        sys.exit(EXIT_REFUSED)
    print(f"{outcome.version} was promoted")


if __name__ == "__main__":
    main()
