"""A trained embedding model as a version: a SavedModel and what stands beside it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bct.classifier import Classifier
from keras_bct.data.decoding import decode
from keras_bct.distances import DISTANCES

SCHEMA = 1
"""Of `version.json`."""


def export_version(
    directory: str | os.PathLike[str],
    backbone: keras.Model,
    classifier: Classifier,
    *,
    distance: str = "cosine",
    training: Mapping[str, Any],
) -> None:
    """Write a SavedModel with the three signatures of a version.

    - `serving_default(examples)`: serialised `tf.train.Example`s with the picture's
      bytes in the feature `image`.
    - `embed_bytes(image_bytes)`: PNG or JPEG bytes; colour becomes grey where the
      model has one channel, and grey becomes colour where it has three. A picture of
      another height or width is refused, not resized.
    - `embed(image)`: `(batch, height, width, channels)` float32 in 0..255.

    Each returns `embedding`, `(batch, d)` float32, raw. `assets.extra/` holds the
    classifier and `version.json`. Everything else is copied first and `saved_model.pb`
    last, so that a server that polls the directory never loads half a version.

    Args:
        directory: Where the version goes: any path that `tf.io.gfile` writes. It may
            exist, but not hold a SavedModel.
        backbone: Pictures float32 0..255 to raw embeddings `(batch, d)`.
        classifier: The classifier that `backbone` was trained with.
        distance: How embeddings are compared: `cosine`, `l2` or `inner_product`.
        training: A summary of the training, plain JSON values.

    Raises:
        ValueError: The arguments do not fit together, or a weight is not finite.
        FileExistsError: `directory` holds a SavedModel already.

    Example:
        >>> from keras_bct.models import glyph_network
        >>> rows = np.eye(2, 8)
        >>> directory = os.path.join(tempfile.mkdtemp(), "1")
        >>> export_version(
        ...     directory,
        ...     glyph_network(8, 4),
        ...     Classifier("cosface", rows, ("ka", "ki"), scale=24.0, margin=0.3),
        ...     training={"steps": 0},
        ... )
        >>> sorted(tf.saved_model.load(directory).signatures)
        ['embed', 'embed_bytes', 'serving_default']
    """
    image_shape, embedding_size = _shapes(backbone)
    if distance not in DISTANCES:
        raise ValueError(
            f"`distance` should be one of {', '.join(DISTANCES)}. Received: "
            f"{distance!r}."
        )
    if classifier.embedding_size != embedding_size:
        raise ValueError(
            "`classifier` should take what `backbone` gives. Received: a classifier of "
            f"{classifier.embedding_size} components and a backbone of "
            f"{embedding_size}."
        )
    for weight in backbone.weights:
        if not np.all(np.isfinite(keras.ops.convert_to_numpy(weight))):
            raise ValueError(
                f"`backbone` should have finite weights. Received NaN or infinity in "
                f"{weight.path!r}: the training diverged; lower the learning rate."
            )
    directory = os.fspath(directory)
    if tf.io.gfile.exists(os.path.join(directory, "saved_model.pb")):
        raise FileExistsError(
            f"`directory` should not hold a version yet. Received: {directory}; give "
            "a new version number."
        )
    with tempfile.TemporaryDirectory() as scratch:
        _write_signatures(scratch, backbone, image_shape)
        extra = Path(scratch, "assets.extra")
        classifier.save(extra)
        description = {
            "schema": SCHEMA,
            "embedding_size": embedding_size,
            "distance": distance,
            "image_shape": list(image_shape),
            "training": dict(training),
        }
        (extra / "version.json").write_text(
            json.dumps(description, ensure_ascii=False, indent=1, allow_nan=False)
            + "\n",
            encoding="utf-8",
        )
        _copy_saved_model_last(scratch, directory)


def _shapes(backbone: keras.Model) -> tuple[tuple[int, int, int], int]:
    """Give the image shape and the embedding size, or refuse."""
    image_shape, output_shape = backbone.input_shape[1:], backbone.output_shape
    if len(image_shape) != 3 or None in image_shape or image_shape[2] not in (1, 3):
        raise ValueError(
            "`backbone` should take pictures of a known height and width with 1 or 3 "
            f"channels. Received: input shape {backbone.input_shape}."
        )
    if len(output_shape) != 2 or output_shape[-1] is None:
        raise ValueError(
            "`backbone` should give embeddings of shape (batch, d). Received: output "
            f"shape {output_shape}."
        )
    return tuple(image_shape), int(output_shape[-1])


def _write_signatures(
    directory: str, backbone: keras.Model, image_shape: tuple[int, int, int]
) -> None:
    height, width, channels = image_shape

    def embed(image: Any) -> dict[str, Any]:
        embeddings = tf.cast(backbone(image, training=False), tf.float32)
        return {"embedding": embeddings}

    def pixels_of(picture: Any) -> Any:
        pixels = decode(picture, channels)
        with tf.control_dependencies(
            [
                tf.debugging.Assert(
                    tf.reduce_all(tf.equal(tf.shape(pixels)[:2], [height, width])),
                    [
                        f"This model takes pictures of height {height} and width "
                        f"{width}; scale them before. Received (height, width, "
                        "channels):",
                        tf.shape(pixels),
                    ],
                )
            ]
        ):
            return tf.reshape(tf.cast(pixels, tf.float32), image_shape)

    def embed_bytes(image_bytes: Any) -> dict[str, Any]:
        return embed(tf.map_fn(pixels_of, image_bytes, fn_output_signature=tf.float32))

    def serving_default(examples: Any) -> dict[str, Any]:
        feature = tf.io.FixedLenFeature([], tf.string)
        return embed_bytes(tf.io.parse_example(examples, {"image": feature})["image"])

    archive = keras.export.ExportArchive()
    archive.track(backbone)
    archive.add_endpoint(
        "embed",
        embed,
        input_signature=[tf.TensorSpec([None, *image_shape], tf.float32, "image")],
    )
    archive.add_endpoint(
        "embed_bytes",
        embed_bytes,
        input_signature=[tf.TensorSpec([None], tf.string, "image_bytes")],
    )
    archive.add_endpoint(
        "serving_default",
        serving_default,
        input_signature=[tf.TensorSpec([None], tf.string, "examples")],
    )
    archive.write_out(directory, verbose=False)


def _copy_saved_model_last(source: str, target: str) -> None:
    """Copy a finished SavedModel; what makes it one to a server appears last."""
    for folder, _, files in os.walk(source):
        relative = os.path.relpath(folder, source)
        destination = os.path.normpath(os.path.join(target, relative))
        tf.io.gfile.makedirs(destination)
        for name in sorted(files):
            if (relative, name) != (".", "saved_model.pb"):
                tf.io.gfile.copy(
                    os.path.join(folder, name),
                    os.path.join(destination, name),
                    overwrite=True,
                )
    arriving = os.path.join(target, "saved_model.pb.arriving")
    tf.io.gfile.copy(os.path.join(source, "saved_model.pb"), arriving, overwrite=True)
    tf.io.gfile.rename(arriving, os.path.join(target, "saved_model.pb"))
