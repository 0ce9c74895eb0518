"""A protocol's sides as embeddings: from files, or made by a model from pictures."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from keras_bct.evaluation import EmbeddingSet, Protocol, Source, read_embeddings
from keras_bct.file_patterns import matching_files

SideName = Literal["queries", "gallery"]


def load_side(
    protocol: Protocol, side: SideName, given: str | None = None
) -> EmbeddingSet:
    """Loads one side of a protocol from wherever its embeddings come.

    Args:
        protocol: Names the side's source and columns.
        side: Which one.
        given: Takes the place of the source's path: a file of embeddings, a `.npy`
            file whose rows are those of the protocol's pictures, or the directory of
            a SavedModel that embeds those. None: the source's own embeddings.

    Raises:
        ValueError: The side holds pictures and no model is given, or what is given
            does not fit.
        FileNotFoundError: There is no such file or directory.
    """
    source: Source = getattr(protocol, side)
    if given is None:
        if source.source != "embeddings":
            raise ValueError(
                f"`{side}`: the protocol's source is {source.source!r}, which holds no "
                "embeddings here. Give a file of embeddings, or the directory of a "
                "SavedModel that embeds its pictures."
            )
        given = protocol.locate(source.path)
    if os.path.isdir(given):
        from keras_bct.models import load_embedder

        pictures = _read_pictures(protocol, side)
        embedder = load_embedder(given)
        return _join(pictures, embedder.embed_bytes(pictures.images, pictures.ids))
    if given.endswith(".npy") and source.source == "tfrecord":
        rows = np.load(given, mmap_mode="r", allow_pickle=False)
        return _join(_read_pictures(protocol, side), rows)
    if ".tfrecord" in os.path.basename(given):
        return _read_embedding_records(given, source)
    return read_embeddings(given, source)


def _join(pictures: Any, rows: Any) -> EmbeddingSet:
    return EmbeddingSet(
        pictures.ids,
        pictures.labels,
        pictures.cameras,
        rows,
        templates=pictures.templates,
        media=pictures.media,
    )


def _read_pictures(protocol: Protocol, side: SideName) -> Any:
    source: Source = getattr(protocol, side)
    if source.source != "tfrecord":
        raise ValueError(
            f"`{side}` should have pictures (source: tfrecord) for a model to embed. "
            f"Received: source {source.source!r}."
        )
    if source.quality is not None:
        raise ValueError(
            f"`{side}`: pictures have no `quality` here. Received: {source.quality!r}. "
            "Embed them first, and put it in the file of embeddings."
        )
    from keras_bct.data import read_records

    return read_records(
        protocol.locate(source.path),
        id=source.id,
        label=source.label,
        camera=source.camera,
        template=source.template,
        medium=source.medium,
    )


def _read_embedding_records(path: str, source: Source) -> EmbeddingSet:
    """Reads `tf.train.Example`s with an `embedding` of floats, and bytes for names."""
    import tensorflow as tf

    files = matching_files(path)
    named = {
        "ids": source.id,
        "labels": source.label,
        "cameras": source.camera,
        "templates": source.template,
        "media": source.medium,
    }
    columns = {name: feature for name, feature in named.items() if feature is not None}
    values: dict[str, list[Any]] = {name: [] for name in columns}
    rows: list[Any] = []
    for file in files:
        with open(file, "rb") as stream:
            compression = "GZIP" if stream.read(2) == b"\x1f\x8b" else ""
        for record in tf.data.TFRecordDataset(file, compression).as_numpy_iterator():
            features = tf.train.Example.FromString(record).features.feature
            missing = set(columns.values()) - set(features)
            if missing or not features["embedding"].float_list.value:
                raise ValueError(
                    f"{file}: every record should have {', '.join(sorted(missing))} "
                    f"and an embedding of floats. Received: {', '.join(features)}."
                )
            rows.append(np.array(features["embedding"].float_list.value, np.float32))
            for name in values:
                values[name].append(features[columns[name]].bytes_list.value[0])
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"{path}: every embedding should be of one size.")
    found: dict[str, Any] = {
        name: np.array(column, object) for name, column in values.items()
    }
    found.setdefault("cameras", None)
    found["embeddings"] = np.stack(rows) if rows else np.zeros((0, 1), np.float32)
    return EmbeddingSet(**found)
