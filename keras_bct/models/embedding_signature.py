"""The signature of a SavedModel that embeds pictures, and its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

ImageShape = tuple[int | None, int | None, int | None]
"""Height, width and channels, each None where a model takes any."""


@dataclass(frozen=True)
class EmbeddingSignature:
    """A signature that embeds a batch of pictures.

    Attributes:
        function: The signature.
        input: The name of its one input.
        pictures: What that takes.
        output: The name of the output that is the embedding.
    """

    function: Any
    input: str
    pictures: tf.TensorSpec
    output: str

    @property
    def image_shape(self) -> ImageShape:
        """Height, width and channels of a picture."""
        height, width, channels = self.pictures.shape.as_list()[1:]
        return height, width, channels

    @property
    def embedding_size(self) -> int:
        """Components of the embedding."""
        size = self.function.structured_outputs[self.output].shape[-1]
        if size is None:
            # Such a model tells the size of its embedding only when it runs.
            probe = np.zeros([1, *(side or 32 for side in self.image_shape)])
            size = self.embed(probe).shape[-1]
        return int(size)

    def embed(self, images: Any) -> Any:
        """Embed a batch, cast to what the signature takes."""
        pictures = tf.cast(images, self.pictures.dtype)
        return self.function(**{self.input: pictures})[self.output]


def embedding_signature(
    directory: str, signatures: Any, wanted: str | None, output: str | None
) -> EmbeddingSignature:
    """Find the signature that embeds a batch of pictures, or refuse with reasons.

    Args:
        directory: The SavedModel's, for the message.
        signatures: Of the loaded SavedModel.
        wanted: The one to take; None: the first that fits.
        output: Its output; None: the one that is clearly the embedding.

    Raises:
        ValueError: There is none that fits.
    """
    refusals = []
    if wanted is not None and wanted not in signatures:
        refusals.append(f"no signature {wanted!r} among {sorted(signatures)}")
    for name in (wanted,) if wanted else ("embed", "serve", "serving_default"):
        if name not in signatures:
            continue
        function = signatures[name]
        inputs = function.structured_input_signature[1]
        pictures = [
            (key, spec)
            for key, spec in inputs.items()
            if spec.shape.rank == 4
            and (spec.dtype.is_floating or spec.dtype.is_integer)
        ]
        if len(inputs) != 1 or not pictures:
            refusals.append(f"{name!r} takes {_described(inputs)}, not pictures")
            continue
        chosen = _embedding_output(function.structured_outputs, output)
        if chosen is None:
            refusals.append(
                f"{name!r} gives {_described(function.structured_outputs)}, of which "
                + (f"none is {output!r}" if output else "no one is the embedding")
            )
            continue
        return EmbeddingSignature(function, *pictures[0], chosen)
    raise ValueError(
        f"{directory} should have a signature that gives an embedding, (batch, d) "
        "floating point, for a batch of pictures. Received: "
        + ("; ".join(refusals) or f"the signatures {sorted(signatures)}")
        + ". Export it with keras_bct.models.export_version, or name `signature` and "
        "`output`."
    )


def _embedding_output(outputs: dict[str, Any], wanted: str | None) -> str | None:
    """Choose the output that is the embedding, None where that is not clear."""
    vectors = [
        key
        for key, spec in outputs.items()
        if spec.dtype.is_floating and spec.shape.rank in (2, None)
    ]
    for name in (wanted,) if wanted else ("embedding", "embeddings"):
        if name in vectors:
            return name
    return vectors[0] if wanted is None and len(outputs) == len(vectors) == 1 else None


def _described(tensors: dict[str, Any]) -> str:
    return ", ".join(
        f"{key}: {spec.dtype.name} {spec.shape}" for key, spec in tensors.items()
    )
