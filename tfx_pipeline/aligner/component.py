"""The Aligner component."""

import json
import os
import pathlib

from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import (
    InputArtifact,
    OutputArtifact,
    Parameter,
)
from tfx.types import artifact_utils
from tfx.types.standard_artifacts import Examples, Model
from tfx.utils import path_utils

from keras_bct.classifier import Classifier
from keras_bct.counted import counted
from keras_bct.data import read_records
from keras_bct.models import load_embedder
from registry.fingerprint import fingerprint
from tfx_pipeline.aligner.methods import check_method, fit
from tfx_pipeline.aligner.pairs import Pairs, old_embeddings
from tfx_pipeline.artifacts import AlignmentAdapter, adapter_folder
from tfx_pipeline.older_versions import older_versions
from tfx_pipeline.registry_access import DATABASE_VARIABLE, open_registry


@tfx.dsl.components.component
def Aligner(  # noqa: N802 - a component is named like a class
    examples: InputArtifact[Examples],
    model: InputArtifact[Model],
    predecessor: InputArtifact[Model],
    registry_root: Parameter[str],
    model_name: Parameter[str],
    alias: Parameter[str],
    gallery: Parameter[str],
    method: Parameter[str],
    adapter: OutputArtifact[AlignmentAdapter],
    settings: Parameter[str] = "{}",
    embeddings: Parameter[str] = "",
    database_variable: Parameter[str] = DATABASE_VARIABLE,
) -> None:
    """Fits a map from each older version's space to a model that was trained freely.

    Pairs are the training pictures. The model embeds them once; an older version's
    embeddings are those that the registry stores, and only pictures without one are
    embedded by that version. There is a map for the predecessor, and one for every
    other version whose vectors the served gallery or index holds, since maps are not
    composed.

    Args:
        examples: The training pictures, split `train`.
        model: The trained model.
        predecessor: The output of PredecessorResolver.
        registry_root: The registry's root.
        model_name: The name of the model in the registry.
        alias: The alias that the model is to be promoted to.
        gallery: The name of the gallery that is served.
        method: The name of the method.
        adapter: The maps.
        settings: What the method is told, as JSON.
        embeddings: The name of the gallery that stores the older versions' embeddings
            of training pictures; empty for none.
        database_variable: Name of the environment variable that holds the URL of the
            registry's database; see `tfx_pipeline.registry_access`.
    """
    told = json.loads(settings)
    check_method(method, told)
    os.makedirs(adapter.uri, exist_ok=True)
    adapter.method, adapter.pairs = method, 0
    directory = path_utils.serving_model_path(model.uri)
    new_fingerprint = fingerprint(directory)
    registry = open_registry(registry_root, database_variable)
    older = [
        version
        for version in older_versions(registry, model_name, alias, predecessor, gallery)
        if version.fingerprint != new_fingerprint
    ]
    if not older:
        print("no older version, nothing to map", flush=True)
        return
    split = artifact_utils.get_split_uri([examples], "train")
    records = read_records(os.path.join(split, "*"))
    new = load_embedder(directory).embed_bytes(records.images, records.ids.tolist())
    assets = pathlib.Path(directory, "assets.extra")
    classifier = None
    if (assets / "classifier.json").exists():
        classifier = Classifier.load(assets)
    for number, version in enumerate(older, start=1):
        old, stored = old_embeddings(registry, version, records, embeddings)
        pairs = Pairs(
            old,
            new,
            records.labels.tolist(),
            classifier,
            version.fingerprint,
            new_fingerprint,
        )
        fitted = fit(method, told, pairs, adapter_folder(adapter.uri, number))
        print(
            f"{version} -> new model: {fitted.method}, "
            f"{counted(fitted.pairs, 'pair')}, "
            f"of which {stored:,} were stored",
            flush=True,
        )
        if number == 1:
            adapter.pairs = fitted.pairs
            adapter.old_fingerprint = fitted.old_fingerprint
            adapter.new_fingerprint = fitted.new_fingerprint
