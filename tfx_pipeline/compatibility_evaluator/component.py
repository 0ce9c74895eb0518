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

from registry import Evidence, Registry, measure_evidence
from tfx_pipeline.artifacts import EVIDENCE_FILE, CompatibilityEvidence


@tfx.dsl.components.component
def CompatibilityEvaluator(  # noqa: N802 - a component is named like a class
    model: InputArtifact[Model],
    predecessor: InputArtifact[Model],
    registry_root: Parameter[str],
    protocol: Parameter[str],
    blessing: OutputArtifact[ModelBlessing],
    evidence: OutputArtifact[CompatibilityEvidence],
    paragon: Parameter[str] = "",
) -> None:
    """Blesses a model when the protocol's gate says that it is compatible.

    Without a predecessor there is nothing to be compatible with: the model is blessed,
    and the answer is `bootstrap`.

    Args:
        model: The trained model.
        predecessor: The output of PredecessorResolver.
        registry_root: The registry's root.
        protocol: Path of the protocol file.
        blessing: TFX's standard blessing, an empty file and the property `blessed`.
        evidence: The gate's answer and, with a predecessor, the numbers.
        paragon: The version at the top of the gain; empty for no gain.
    """
    if predecessor.get_string_custom_property("version"):
        measured = _measure(model, predecessor, registry_root, protocol, paragon)
        os.makedirs(evidence.uri, exist_ok=True)
        pathlib.Path(evidence.uri, EVIDENCE_FILE).write_text(
            json.dumps(dataclasses.asdict(measured))
        )
        evidence.protocol_digest = measured.protocol_digest
        evidence.data_digest = measured.data_digest
        answer, reasons = measured.answer, measured.reasons
    else:
        answer, reasons = "bootstrap", ("There is no predecessor.",)
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
    model: Model,
    predecessor: Model,
    registry_root: str,
    protocol: str,
    paragon: str,
) -> Evidence:
    registry = Registry(registry_root)
    with contextlib.ExitStack() as stack:
        return measure_evidence(
            path_utils.serving_model_path(model.uri),
            path_utils.serving_model_path(predecessor.uri),
            protocol,
            stack.enter_context(registry.local_version(registry.version(paragon)))
            if paragon
            else None,
            galleries=registry.galleries_folder,
        )
