"""The pictures of a protocol's side: one reader for evaluation, registry and training.

What a protocol names and pictures do not have is refused here, so that no one measures
something else than it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation import EmbeddingSet, Protocol, Source

if TYPE_CHECKING:
    from keras_bct.data.records import ImageRecords

SideName = Literal["queries", "gallery"]


def read_protocol_pictures(protocol: Protocol, side: SideName) -> ImageRecords:
    """Read the pictures of one side, with all that the protocol says of them.

    Args:
        protocol: Names the files and their features.
        side: Which one.

    Raises:
        FileNotFoundError: No file matches.
        ValueError: What `check_pictures` refuses, a camera, template or medium that no
            record has, or files that `read_records` cannot read.
    """
    from keras_bct.data.records import read_records

    check_pictures(protocol, side)
    source: Source = getattr(protocol, side)
    try:
        records = read_records(
            protocol.locate(source.path),
            id=source.id,
            label=source.label,
            camera=source.camera,
            template=source.template,
            medium=source.medium,
        )
    except ValueError as error:
        raise ValueError(
            f"`{side}` of the protocol {protocol.name!r} cannot be read: {error}"
        ) from error
    for key, column in (
        ("camera", records.cameras),
        ("template", records.templates),
        ("medium", records.media),
    ):
        named = getattr(source, key)
        if named is not None and column is None:
            raise ValueError(
                f"`{side}` of the protocol {protocol.name!r} names `{key}: {named}`, "
                f"which no record of {source.path} has. Name the feature that the "
                "files have, or leave it out."
            )
    return records


def check_pictures(protocol: Protocol, side: SideName) -> None:
    """Refuse a side that is no pictures, or that asks of them what they do not have.

    Args:
        protocol: Says what the side is.
        side: Which one.

    Raises:
        ValueError: Another source than TFRecords, a `quality`, or no `camera` where the
            protocol excludes by it.
    """
    source: Source = getattr(protocol, side)
    if source.source != "tfrecord":
        raise ValueError(
            f"`{side}` of the protocol {protocol.name!r} should be pictures (`source: "
            "tfrecord`), since a model has to embed them. Received: `source: "
            f"{source.source}`."
        )
    if source.quality is not None:
        raise ValueError(
            f"`{side}` of the protocol {protocol.name!r} should name no `quality`, "
            f"which pictures in TFRecords do not have. Received: {source.quality!r}. "
            "Leave it out, or embed the pictures and put it beside the embeddings."
        )
    # Before the pictures are embedded, which may take hours.
    if "same_camera" in protocol.exclude and source.camera is None:
        raise ValueError(
            f"`{side}` of the protocol {protocol.name!r} should name its `camera`, "
            "since it excludes `same_camera`. Received none; name the feature, or "
            "leave `same_camera` out."
        )


def with_embeddings(
    pictures: ImageRecords, embeddings: npt.NDArray[np.float32]
) -> EmbeddingSet:
    """Join a side's pictures with what a model made of them.

    Args:
        pictures: n pictures.
        embeddings: (n, d), row for row.

    Raises:
        ValueError: What no `EmbeddingSet` can hold.
    """
    return EmbeddingSet(
        pictures.ids,
        pictures.labels,
        pictures.cameras,
        embeddings,
        templates=pictures.templates,
        media=pictures.media,
    )
