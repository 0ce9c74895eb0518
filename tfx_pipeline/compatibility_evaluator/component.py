"""The CompatibilityEvaluator component."""

import contextlib
import dataclasses
import json
import os
import pathlib

from tfx import v1 as tfx
from tfx.components.evaluator import constants
from tfx.dsl.component.experimental.annotations import (
    InputArtifact,
    OutputArtifact,
    Parameter,
)
from tfx.types.standard_artifacts import Model, ModelBlessing
from tfx.utils import path_utils

from registry import Evidence, Registry, Version, measure_evidence
from tfx_pipeline.artifacts import (
    AlignmentAdapter,
    CompatibilityEvidence,
    evidence_file,
)
from tfx_pipeline.older_versions import Older, as_served, through_new_adapters
from tfx_pipeline.registry_access import DATABASE_VARIABLE, open_registry

THE_MODEL_ITSELF = "new"
"""As a paragon: a model that was trained freely is its own."""


@tfx.dsl.components.component
def CompatibilityEvaluator(  # noqa: N802 - a component is named like a class
    model: InputArtifact[Model],
    predecessor: InputArtifact[Model],
    registry_root: Parameter[str],
    model_name: Parameter[str],
    alias: Parameter[str],
    protocol: Parameter[str],
    blessing: OutputArtifact[ModelBlessing],
    evidence: OutputArtifact[CompatibilityEvidence],
    paragon: Parameter[str] = "",
    adapter: InputArtifact[AlignmentAdapter] = None,
    database_variable: Parameter[str] = DATABASE_VARIABLE,
) -> None:
    """Blesses a model when the protocol's gate says that it is compatible.

    It has to be so with the predecessor, and with every version that made vectors of
    the index that the alias serves, in the way that this index holds them: edges are
    not composed. Without any of these there is nothing to be compatible with: the model
    is blessed, and the answer is `bootstrap`.

    With the adapters of Aligner it is M(new, h(old)) that is compared with M(old, old).

    Args:
        model: The trained model.
        predecessor: The output of PredecessorResolver.
        registry_root: The registry's root.
        model_name: The name of the model in the registry.
        alias: The alias that the model is to be promoted to.
        protocol: Path of the protocol file.
        blessing: TFX's standard blessing, an empty file and the property `blessed`.
        evidence: The gate's answer, and the numbers for each of these versions.
        paragon: The version at the top of the gain; empty for no gain; `new` for the
            model itself, as one that was trained freely.
        adapter: The output of Aligner; None for vectors as they are served now.
        database_variable: Name of the environment variable that holds the URL of the
            registry's database; see `tfx_pipeline.registry_access`.
    """
    registry = open_registry(registry_root, database_variable)
    os.makedirs(evidence.uri, exist_ok=True)
    answer, reasons = "bootstrap", []
    with contextlib.ExitStack() as stack:
        if adapter is None:
            served = as_served(registry, model_name, alias, predecessor)
            older = stack.enter_context(served)
        else:
            older = through_new_adapters(registry, adapter)
        for number, one in enumerate(older, start=1):
            measured = _measure(registry, model, one, protocol, paragon)
            pathlib.Path(evidence.uri, evidence_file(number)).write_text(
                json.dumps(dataclasses.asdict(measured)), encoding="utf-8"
            )
            if number == 1:
                evidence.protocol_digest = measured.protocol_digest
                evidence.data_digest = measured.data_digest
            if answer in ("bootstrap", "yes") or measured.answer == "no":
                answer = measured.answer
            against = f"{one.version}" + (" through an adapter" if one.adapter else "")
            reasons += [f"against {against}: {reason}" for reason in measured.reasons]
    reasons = reasons or ["There is no predecessor."]
    print(f"gate: {answer}", *reasons, sep="\n  ", flush=True)
    evidence.answer = answer

    blessed = answer in ("yes", "bootstrap")
    name = constants.BLESSED_FILE_NAME if blessed else constants.NOT_BLESSED_FILE_NAME
    os.makedirs(blessing.uri, exist_ok=True)
    pathlib.Path(blessing.uri, name).touch()
    blessing.set_int_custom_property(
        constants.ARTIFACT_PROPERTY_BLESSED_KEY,
        constants.BLESSED_VALUE if blessed else constants.NOT_BLESSED_VALUE,
    )
    blessing.set_string_custom_property("reasons", "\n".join(reasons))


def _measure(
    registry: Registry, model: Model, older: Older, protocol: str, paragon: str
) -> Evidence:
    new = path_utils.serving_model_path(model.uri)
    with contextlib.ExitStack() as stack:

        def directory(version: Version) -> pathlib.Path:
            return stack.enter_context(registry.local_version(version))

        top: str | pathlib.Path | None = new if paragon == THE_MODEL_ITSELF else None
        if paragon and top is None:
            top = directory(registry.version(paragon))
        return measure_evidence(
            new,
            directory(older.version),
            protocol,
            top,
            adapter_dir=older.adapter,
            galleries=registry.galleries_folder,
        )
