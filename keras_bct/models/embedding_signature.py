"""The signature of a SavedModel that embeds pictures, with its input and output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from keras_bct.embedding_parts import PARTS_FILE, EmbeddingParts

ImageShape = tuple[int | None, int | None, int | None]
"""Height, width and channels, each None where a model takes any."""

_PREFERRED = ("embed", "serve", "serving_default")
_NAMES = ("embedding", "embeddings")
_CHANNELS = (None, 1, 3, 4)


@dataclass(frozen=True)
class EmbeddingSignature:
    """A signature that embeds a batch of pictures.

    Attributes:
        parts: The names of signature, input and output.
        function: The signature.
        pictures: What its input for pictures takes.
        others: Its other inputs, which the embedding does not depend on.
    """

    parts: EmbeddingParts
    function: Any
    pictures: tf.TensorSpec
    others: Mapping[str, tf.TensorSpec]

    @property
    def image_shape(self) -> ImageShape:
        """Height, width and channels of a picture."""
        if self.pictures.shape.rank is None:
            return None, None, None
        height, width, channels = self.pictures.shape.as_list()[1:]
        return height, width, channels

    def embed(self, images: Any, *, fill: int = 0) -> Any:
        """Embed a batch, cast to what the signature takes.

        Args:
            images: The pictures.
            fill: What the other inputs are filled with.
        """
        pictures = tf.cast(images, self.pictures.dtype)
        takes = {
            name: _filled(spec, tf.shape(pictures)[0], fill)
            for name, spec in self.others.items()
        }
        takes[str(self.parts.input)] = pictures
        return self.function(**takes)[self.parts.output]


def embedding_signature(
    directory: str, signatures: Mapping[str, Any], wanted: EmbeddingParts
) -> EmbeddingSignature:
    """Find the signature that embeds a batch of pictures, or refuse with reasons.

    An output called `embedding` or `embeddings` is the embedding, in whatever
    signature; else it is the only output of a signature, of `embed`, `serve` and
    `serving_default` in this order, or of the one that fits among the others.

    Args:
        directory: The SavedModel's, for the message.
        signatures: Of the loaded SavedModel.
        wanted: The names that are known.

    Raises:
        ValueError: There is none that fits, or it is not clear which.
    """
    others = {name for name in signatures if not name.startswith("__")}
    names = [name for name in _PREFERRED if name in others]
    names += sorted(others - set(_PREFERRED))
    refusals = []
    if wanted.signature is not None:
        if wanted.signature not in names:
            refusals.append(f"no signature {wanted.signature!r} among {sorted(names)}")
        names = [name for name in names if name == wanted.signature]
    fit = []
    for name in names:
        try:
            fit.append(_fitting(name, signatures[name], wanted))
        except ValueError as error:
            refusals.append(str(error))
    by_name = [found for found in fit if found.parts.output in _NAMES]
    known = [found for found in fit if found.parts.signature in _PREFERRED]
    if by_name or known or len(fit) == 1:
        return (by_name or known or fit)[0]
    if fit:
        refusals = [
            " and ".join(repr(found.parts.signature) for found in fit)
            + ", of which it is not clear which one is meant"
        ]
    raise ValueError(
        f"{directory} should have a signature that gives an embedding, (batch, d) "
        "floating point, for a batch of pictures. Received: "
        + ("; ".join(refusals) or "no signature")
        + ". Export it with keras_bct.models.export_version, or name its parts: "
        "`signature`, `input` and `output` (--signature, --input and --output of "
        f"`registry register`, or a file {PARTS_FILE})."
    )


def _fitting(name: str, function: Any, wanted: EmbeddingParts) -> EmbeddingSignature:
    """Describe a signature that embeds pictures, or say why it does not.

    Raises:
        ValueError: It does not.
    """
    takes = function.structured_input_signature[1]
    pictures = [key for key, spec in takes.items() if _takes_pictures(spec)]
    if wanted.input is not None:
        # Who names it knows that it takes pictures, where it does not say so itself.
        pictures = [
            key
            for key, spec in takes.items()
            if key == wanted.input and (key in pictures or _may_take_anything(spec))
        ]
    if len(pictures) != 1 or (len(takes) > 1 and wanted.input is None):
        which = "pictures" if wanted.input is None else f"pictures as {wanted.input!r}"
        raise ValueError(
            f"{name!r} takes {_described(takes)}, not {which}: (any batch, height, "
            "width, channels), of 1, 3 or 4 channels"
        )
    (picture,) = pictures
    gives = function.structured_outputs
    output = _embedding_output(gives, wanted.output)
    if output is None:
        raise ValueError(
            f"{name!r} gives {_described(gives)}, of which "
            + (
                f"none is {wanted.output!r} and an embedding"
                if wanted.output
                else "no one is the embedding"
            )
        )
    return EmbeddingSignature(
        EmbeddingParts(name, picture, output),
        function,
        takes[picture],
        {key: spec for key, spec in takes.items() if key != picture},
    )


def _takes_pictures(spec: tf.TensorSpec) -> bool:
    return (
        _is_number(spec)
        and spec.shape.rank == 4
        and spec.shape[0] is None
        and spec.shape[3] in _CHANNELS
    )


def _may_take_anything(spec: tf.TensorSpec) -> bool:
    return _is_number(spec) and spec.shape.rank is None


def _is_number(spec: tf.TensorSpec) -> bool:
    return bool(spec.dtype.is_floating or spec.dtype.is_integer)


def _embedding_output(outputs: Mapping[str, Any], wanted: str | None) -> str | None:
    """Choose the output that is the embedding, None where that is not clear."""
    vectors = [
        key
        for key, spec in outputs.items()
        if spec.dtype.is_floating and spec.shape.rank in (2, None)
    ]
    for name in (wanted,) if wanted else _NAMES:
        if name in vectors:
            return name
    return vectors[0] if wanted is None and len(outputs) == len(vectors) == 1 else None


def _filled(spec: tf.TensorSpec, batch: Any, fill: int) -> Any:
    """Give a tensor for an input that does not matter, as long as the batch."""
    shape = [1 if size is None else size for size in spec.shape.as_list()]
    if spec.shape.rank and spec.shape[0] is None:
        shape = [batch, *shape[1:]]
    value = str(fill) if spec.dtype == tf.string else tf.cast(fill, spec.dtype)
    return tf.fill(shape, value)


def _described(tensors: Mapping[str, Any]) -> str:
    words = (f"{key}: {spec.dtype.name} {spec.shape}" for key, spec in tensors.items())
    return ", ".join(words) or "nothing"
