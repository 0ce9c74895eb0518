"""The RegistryPusher component."""

import json
import pathlib

from tfx import v1 as tfx
from tfx.components.util import model_utils
from tfx.dsl.component.experimental.annotations import (
    InputArtifact,
    OutputArtifact,
    Parameter,
)
from tfx.types.standard_artifacts import Model, ModelBlessing, PushedModel
from tfx.utils import path_utils

from keras_bct.configuration import from_mapping
from registry import (
    Adapter,
    AdapterExistsError,
    Evidence,
    GateRefusedError,
    Registry,
    Version,
    VersionExistsError,
)
from registry.evidence.protocol_data import read_protocol
from tfx_pipeline.artifacts import AlignmentAdapter, CompatibilityEvidence
from tfx_pipeline.older_versions import adapters_of
from tfx_pipeline.recall_queries import embedded_queries
from tfx_pipeline.registry_access import DATABASE_VARIABLE, open_registry


@tfx.dsl.components.component
def RegistryPusher(  # noqa: N802 - a component is named like a class
    model: InputArtifact[Model],
    predecessor: InputArtifact[Model],
    blessing: InputArtifact[ModelBlessing],
    evidence: InputArtifact[CompatibilityEvidence],
    registry_root: Parameter[str],
    model_name: Parameter[str],
    alias: Parameter[str],
    protocol: Parameter[str],
    pushed_model: OutputArtifact[PushedModel],
    gallery: Parameter[str] = "",
    queries: Parameter[str] = "",
    adapter: InputArtifact[AlignmentAdapter] = None,
    database_variable: Parameter[str] = DATABASE_VARIABLE,
) -> None:
    """Registers every model with its evidence; promotes only a blessed one.

    The promotion asks the registry's own gate again (`require_compatible`), so that a
    blessing given before the alias or its index moved does not count. A model whose
    files are registered already, by a run that was stopped or one with other terms,
    keeps its number.

    Adapters are registered with it. What is blessed through them searches no vectors as
    they are stored, so an index of the gallery's vectors through them is built first,
    and the alias moves to the model and that index in one step. So it is where the
    served index compares other components than the protocol.

    Args:
        model: The trained model.
        predecessor: The output of PredecessorResolver.
        blessing: The blessing of CompatibilityEvaluator.
        evidence: The evidence of CompatibilityEvaluator.
        registry_root: The registry's root.
        model_name: The name of the model in the registry.
        alias: The alias to move.
        protocol: Path of the protocol file, kept with a new alias.
        pushed_model: Names the version; the property `pushed` says whether the alias
            stands at it, `reasons` why not.
        gallery: The name of the gallery that is served; empty for none.
        queries: TFRecord pattern of pictures to measure that index's recall with;
            empty to measure with rows of the gallery.
        adapter: The output of Aligner; None for vectors as they are served now.
        database_variable: Name of the environment variable that holds the URL of the
            registry's database; see `tfx_pipeline.registry_access`.
    """
    registry = open_registry(registry_root, database_variable)
    try:
        version = registry.register(
            model_name,
            path_utils.serving_model_path(model.uri),
            predecessor=predecessor.get_string_custom_property("version") or None,
        )
    except VersionExistsError as error:
        version = registry.version(error.version)
    adapters = [] if adapter is None else _register(registry, adapter)
    for path in sorted(pathlib.Path(evidence.uri).glob("evidence*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        registry.add_evidence(from_mapping(Evidence, measured, source=str(path)))
    reasons = blessing.get_string_custom_property("reasons").splitlines()
    pushed = model_utils.is_model_blessed(blessing)
    if pushed:
        index = _index_for(
            registry, version, alias, protocol, gallery, adapters, queries
        )
        try:
            registry.promote(
                str(version),
                alias,
                require_compatible=True,
                protocol=protocol,
                index=index,
            )
        except GateRefusedError as refused:
            pushed, reasons = False, list(refused.reasons)
    print(
        f"registered {version}, now {model_name}@{alias}"
        if pushed
        else f"registered {version}, not promoted",
        flush=True,
    )
    pushed_model.set_int_custom_property("pushed", int(pushed))
    pushed_model.set_string_custom_property("reasons", "\n".join(reasons))
    pushed_model.set_string_custom_property("pushed_destination", version.location)
    pushed_model.set_string_custom_property("pushed_version", str(version))


def _register(registry: Registry, artifact: AlignmentAdapter) -> list[Adapter]:
    registered = []
    for folder in adapters_of(artifact):
        try:
            registered.append(registry.add_adapter(folder))
        except AdapterExistsError as error:
            registered.append(registry.adapter(error.adapter))
    return registered


def _index_for(
    registry: Registry,
    version: Version,
    alias: str,
    protocol: str,
    gallery: str,
    adapters: list[Adapter],
    queries: str,
) -> str | None:
    """Name of an index of the gallery's vectors that holds them as they were measured.

    None where the alias's own does already, or the gallery has no vectors.
    """
    known = gallery in registry.galleries()
    held = registry.gallery(gallery).fingerprints if known else {}
    through = [adapter for adapter in adapters if adapter.old_fingerprint in held]
    first = read_protocol(protocol).first_components
    if not through:
        served = {a.name: a.index for a in registry.aliases(version.model)}.get(alias)
        if not held or served is None or first in (None, served.first_components):
            return None
        kept = filter(None, map(registry.adapter_with, served.adapters.values()))
        through = [adapter for adapter in kept if adapter.old_fingerprint in held]
    index = registry.build_index(
        gallery,
        version.model,
        distance=version.distance,
        first_components=first,
        through=[str(adapter) for adapter in through],
        queries=embedded_queries(registry, version, queries),
    )
    return str(index)
