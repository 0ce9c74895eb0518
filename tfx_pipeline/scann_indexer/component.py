"""The ScannIndexer component."""

import json
import os
import pathlib

from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import (
    InputArtifact,
    OutputArtifact,
    Parameter,
)
from tfx.types.standard_artifacts import PushedModel

from keras_bct.data import read_records
from keras_bct.models import load_embedder
from registry import Registry
from tfx_pipeline.artifacts import ScannIndex


@tfx.dsl.components.component
def ScannIndexer(  # noqa: N802 - a component is named like a class
    pushed_model: InputArtifact[PushedModel],
    registry_root: Parameter[str],
    model_name: Parameter[str],
    alias: Parameter[str],
    gallery: Parameter[str],
    index: OutputArtifact[ScannIndex],
    images: Parameter[str] = "",
    queries: Parameter[str] = "",
) -> None:
    """Indexes the gallery as it is stored, for the version just promoted.

    Nothing that the gallery already holds is embedded again. Only pictures of `images`
    whose ids the gallery does not hold yet are embedded, with the promoted version;
    without `images`, none are. After a run that promoted nothing, nothing is published.

    Args:
        pushed_model: The output of RegistryPusher.
        registry_root: The registry's root.
        model_name: The name of the model in the registry.
        alias: The alias that serves the index.
        gallery: The name of the gallery in the registry.
        index: What was published, `index.json`.
        images: TFRecord pattern of the gallery's pictures; empty for none.
        queries: TFRecord pattern of pictures to measure recall with, embedded by the
            promoted version; empty to measure with rows of the gallery.
    """
    os.makedirs(index.uri, exist_ok=True)
    if not pushed_model.get_int_custom_property("pushed"):
        print("nothing promoted, nothing indexed", flush=True)
        index.published = 0
        return
    registry = Registry(registry_root)
    version = registry.version(
        pushed_model.get_string_custom_property("pushed_version")
    )
    if images:
        added = registry.add_pictures(gallery, read_records(images), version)
        print(f"gallery {gallery}: {added} new rows by {version}", flush=True)
    asked = None
    if queries:
        pictures = read_records(queries)
        with registry.local_version(version) as directory:
            asked = load_embedder(directory).embed_bytes(
                pictures.images, pictures.ids.tolist()
            )
    published = registry.publish_index(gallery, model_name, alias, queries=asked)
    print(
        f"index {published}: {published.rows} rows, "
        f"recall@10 {published.recall_at_10:.4f}",
        flush=True,
    )
    index.published = 1
    index.rows = published.rows
    index.recall_at_10 = published.recall_at_10
    pathlib.Path(index.uri, "index.json").write_text(
        json.dumps(
            {"index": str(published), "fingerprints": dict(published.fingerprints)}
        )
    )
