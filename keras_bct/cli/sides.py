"""A protocol's sides as embeddings: from files, or made by a model from pictures."""

from __future__ import annotations

import os

from keras_bct.array_file import read_array
from keras_bct.data.protocol_pictures import (
    SideName,
    read_protocol_pictures,
    with_embeddings,
)
from keras_bct.evaluation import EmbeddingSet, Protocol, Source, read_embeddings


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

        pictures = read_protocol_pictures(protocol, side)
        embedder = load_embedder(given)
        return with_embeddings(
            pictures, embedder.embed_bytes(pictures.images, pictures.ids.tolist())
        )
    if given.lower().endswith(".npy") and source.source == "tfrecord":
        vectors = read_array(given, mapped=True)
        try:
            return with_embeddings(read_protocol_pictures(protocol, side), vectors)
        except ValueError as error:
            raise ValueError(f"{given}: {error}") from error
    return read_embeddings(given, source)
