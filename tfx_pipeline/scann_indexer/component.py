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

from keras_bct.counted import counted
from keras_bct.data import read_records
from registry import Registry, SearchIndex, Version
from tfx_pipeline.artifacts import AlignmentAdapter, ScannIndex
from tfx_pipeline.recall_queries import embedded_queries
from tfx_pipeline.registry_access import DATABASE_VARIABLE, open_registry


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
    adapter: InputArtifact[AlignmentAdapter] = None,
    database_variable: Parameter[str] = DATABASE_VARIABLE,
) -> None:
    """Indexes the gallery's stored vectors for the version just promoted.

    Nothing that the gallery already holds is embedded again. Only pictures of `images`
    whose ids the gallery does not hold yet are embedded, with the promoted version;
    without `images`, none are. After a run that promoted nothing, nothing is published.

    Vectors that go through adapters in the index that the alias serves go through them
    in the new one too. With the adapters of Aligner, RegistryPusher has published that
    index already, and there is another one only when pictures were added.

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
        adapter: The output of Aligner; None for vectors as they are served now.
        database_variable: Name of the environment variable that holds the URL of the
            registry's database; see `tfx_pipeline.registry_access`.
    """
    os.makedirs(index.uri, exist_ok=True)
    if not pushed_model.get_int_custom_property("pushed"):
        print("nothing promoted, nothing indexed", flush=True)
        index.published = 0
        return
    registry = open_registry(registry_root, database_variable)
    version = registry.version(
        pushed_model.get_string_custom_property("pushed_version")
    )
    served = registry.alias(f"{model_name}@{alias}").index
    if images:
        added = registry.add_pictures(
            gallery,
            read_records(images),
            version,
            whole=_beside_others(registry, served, gallery, version),
        )
        print(f"gallery {gallery}: {added} new rows by {version}", flush=True)
    if (
        adapter is not None
        and served is not None
        and _covers(registry, served, gallery)
    ):
        published = served
    else:
        published = registry.publish_index(
            gallery,
            model_name,
            alias,
            queries=embedded_queries(registry, version, queries),
        )
    print(
        f"index {published}: {counted(published.rows, 'row')}, "
        f"recall@10 {published.recall_at_10:.4f}",
        flush=True,
    )
    index.published = 1
    index.rows = published.rows
    index.recall_at_10 = published.recall_at_10
    pathlib.Path(index.uri, "index.json").write_text(
        json.dumps(
            {
                "index": str(published),
                "fingerprints": dict(published.fingerprints),
                "adapters": dict(published.adapters),
            }
        ),
        encoding="utf-8",
    )


def _beside_others(
    registry: Registry, served: SearchIndex | None, gallery: str, version: Version
) -> bool:
    """Whether rows are stored as they are, not in the size that the gallery has.

    They are beside rows that are mapped into this version's space, and where it is
    narrower than the gallery: it was promoted over the components that all have.
    """
    if served is not None and served.adapters:
        return True
    held = registry.galleries(version.model)
    return gallery in held and (
        version.embedding_size < registry.gallery(gallery).embedding_size
    )


def _covers(registry: Registry, index: SearchIndex, gallery: str) -> bool:
    """Whether an index through adapters has every row of the gallery."""
    generation = registry.gallery(gallery).generation
    return bool(index.adapters) and (index.gallery, index.generation) == (
        gallery,
        generation,
    )
