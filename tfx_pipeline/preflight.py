"""What can be known before the first step, checked before it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from keras_bct.data.records import matching_files
from registry import Registry, RegistryError, UsageError
from registry.evidence.protocol_data import ProtocolData, read_protocol
from registry.names import check_gallery_name, check_name
from tfx_pipeline.compatibility_evaluator.component import THE_MODEL_ITSELF
from tfx_pipeline.registry_access import open_registry

if TYPE_CHECKING:
    from tfx_pipeline.pipeline import PipelineConfiguration


def check_run(configuration: PipelineConfiguration) -> None:
    """Raises over all that would stop a run, before its first step.

    Args:
        configuration: The run.

    Raises:
        UsageError: It names each thing that is wrong: names, the registry, the protocol
            and its files, patterns that match no file, the schema, the paragon.
    """
    wrong = []
    for field, check in _checks(configuration):
        try:
            check()
        except (OSError, ValueError, RegistryError) as error:
            wrong.append(f"\n  - `{field}`: {error}")
    if wrong:
        raise UsageError(
            f"The run {configuration.name!r} cannot succeed; nothing was begun:"
            + "".join(wrong)
        )


def _checks(
    configuration: PipelineConfiguration,
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Checks by the field of the run that each looks at; they are to be made in turn.

    What is asked of the registry is asked only when it could be opened.
    """
    gallery, data = configuration.gallery, configuration.data
    yield "model_name", partial(check_name, configuration.model_name)
    yield "alias", partial(check_name, configuration.alias, "alias")
    patterns = {
        "data.train": os.path.join(data.directory, data.train),
        "data.eval": os.path.join(data.directory, data.eval),
    }
    if gallery is not None:
        yield "gallery.name", partial(check_gallery_name, gallery.name)
        patterns["gallery.images"] = gallery.images
        patterns["gallery.queries"] = gallery.queries
    for field, pattern in patterns.items():
        # TFX fills in what stands in braces, such as {SPAN}.
        spans = field.startswith("data.") and "{" in pattern
        if pattern and not spans:
            yield field, partial(matching_files, pattern)
    yield "data.schema", partial(_check_schema, data.schema)
    opened: list[Registry] = []
    yield "registry_root", lambda: opened.append(_open(configuration))
    if not opened:
        yield "protocol", partial(_check_protocol, configuration.protocol)
        return
    (registry,) = opened
    # A first run has nothing to be compared with, and asks for no stored vectors.
    alias = (configuration.model_name, configuration.alias)
    first = all((found.model, found.name) != alias for found in registry.aliases())
    yield (
        "protocol",
        partial(_check_protocol, configuration.protocol, None if first else registry),
    )
    if configuration.paragon not in ("", THE_MODEL_ITSELF):
        yield "paragon", partial(registry.version, configuration.paragon)
    aligner = configuration.aligner
    if aligner is not None and aligner.embeddings and not first:
        yield "aligner.embeddings", partial(registry.gallery, aligner.embeddings)


def _open(configuration: PipelineConfiguration) -> Registry:
    registry = open_registry(
        configuration.registry_root, configuration.database_variable
    )
    if configuration.gallery is not None and not registry.root.is_local:
        raise UsageError(
            f"{registry.root.url!r} is remote, and galleries and indices are mapped "
            "files. Mount it, or leave `gallery` out: then a version is trained, "
            "measured and promoted, and nothing is indexed."
        )
    return registry


def _check_protocol(path: str, registry: Registry | None = None) -> None:
    protocol = read_protocol(path)
    data = ProtocolData(protocol, None)
    data.check_sides()
    data.check_files()
    if registry is not None and protocol.gallery.source == "gallery":
        registry.gallery(protocol.gallery.path)


def _check_schema(path: str) -> None:
    try:
        text_format.Parse(Path(path).read_text(encoding="utf-8"), schema_pb2.Schema())
    except text_format.ParseError as error:
        raise ValueError(f"{path} is no TFMD schema as text: {error}") from error
