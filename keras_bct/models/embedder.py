"""Embeddings from a SavedModel: a version of ours, or a predecessor from elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bct.counted import counted
from keras_bct.data.decoding import (
    decode,
    is_png_or_jpeg,
    refusal,
    wrong_pictures,
)
from keras_bct.distances import DISTANCES
from keras_bct.embedding_parts import NOTHING_NAMED, EmbeddingParts
from keras_bct.models.embedding_signature import (
    EmbeddingSignature,
    ImageShape,
    embedding_signature,
)
from keras_bct.progress import progress_bar

_BATCH = 256
_TRIED_SIDE = 224
"""Height and width of the pictures that a model of any size is tried with."""


class Embedder:
    """An embedding model that is only run, never trained.

    Made by `load_embedder`.

    Attributes:
        directory: Where the SavedModel lies.
        embedding_size: Components d of the embedding.
        distance: How its embeddings are compared.
    """

    def __init__(
        self,
        directory: str,
        loaded: Any,
        found: EmbeddingSignature,
        embed_bytes: Callable[[Any], Any] | None,
        *,
        embedding_size: int,
        distance: str,
    ) -> None:
        self.directory = directory
        self.embedding_size = embedding_size
        self.distance = distance
        # The signatures hold no reference to the variables of the loaded object, which
        # would be freed under them.
        self._loaded = loaded
        self._found = found
        self._embed = found.embed
        self._embed_bytes = embed_bytes

    @property
    def image_shape(self) -> ImageShape:
        """Height, width and channels, each None where the model takes any."""
        return self._found.image_shape

    @property
    def parts(self) -> EmbeddingParts:
        """The names of the signature, the input and the output that embed."""
        return self._found.parts

    def run(self, images: Any) -> Any:
        """Embed one batch as a tensor, inside a TensorFlow graph or outside.

        Args:
            images: `(batch, height, width, channels)`, as the model takes them.

        Returns:
            `(batch, d)`, of the model's own floating-point type.
        """
        return self._embed(images)

    def check(self) -> None:
        """Embed two made pictures, as pixels and as PNG.

        Raises:
            ValueError: That fails, gives something else than two embeddings, or
                something else by another way; the message says what.
        """
        pixels = _made_pictures(self.image_shape)
        try:
            embeddings = self.embed(pixels)
            by_bytes = self.embed_bytes(
                [tf.io.encode_png(picture).numpy() for picture in pixels],
                ["the first picture", "the second picture"],
            )
            elsewise = np.asarray(self._found.embed(pixels, fill=1), np.float32)
        except (tf.errors.OpError, ValueError, TypeError) as error:
            raise ValueError(
                f"{self.directory} should embed pictures by {self._named()}. Received, "
                f"for two made pictures of shape {pixels.shape[1:]}: {error}"
            ) from error
        size = np.abs(embeddings).max()
        for what, again in (
            (
                f"with other values in {sorted(self._found.others)}"
                if self._found.others
                else "the second time",
                elsewise,
            ),
            ("by `embed_bytes`, for the same pictures as PNG", by_bytes),
        ):
            if not np.allclose(embeddings, again, atol=1e-3 * size):
                raise ValueError(
                    f"{self.directory} should give one embedding for one picture by "
                    f"{self._named()}. Received another one {what}. Export it with "
                    "keras_bct.models.export_version."
                )

    def embed(self, images: Any) -> NDArray[np.float32]:
        """Embed pictures, in batches.

        Args:
            images: `(n, height, width, channels)`, float32 in 0..255 (uint8 is cast).
                A predecessor made elsewhere may take another range: give it that.

        Returns:
            `(n, d)` float32, raw.

        Raises:
            ValueError: The pictures have another shape than the model takes, or an
                embedding is not finite.
        """
        images = np.asarray(images)
        self._check_shape("`images`", images.shape[1:], batch=images.shape)
        rows = [str(row) for row in range(len(images))]
        return self._in_batches(
            len(images), lambda batch: self._embed(images[batch]), rows
        )

    def embed_bytes(
        self, images: Sequence[bytes], ids: Sequence[str]
    ) -> NDArray[np.float32]:
        """Embed pictures given as PNG or JPEG bytes, in batches.

        Args:
            images: n encoded pictures.
            ids: n names of the pictures, for error messages.

        Returns:
            `(n, d)` float32, raw.

        Raises:
            ValueError: Bytes are not a picture or one of another size than the model
                takes, or an embedding is not finite; the message gives the ids.
        """
        if len(images) != len(ids):
            raise ValueError(
                "`ids` should name every picture. Received: "
                f"{len(ids)} ids for {counted(len(images), 'picture')}."
            )
        embed = self._embed_bytes or self._decode_and_embed

        def embed_batch(batch: slice) -> Any:
            theirs = list(images[batch])
            try:
                # A version's own decoder may be older than the rule, and take others.
                if not all(map(is_png_or_jpeg, theirs)):
                    raise ValueError("another format")
                return embed(theirs)
            except (tf.errors.OpError, ValueError) as error:
                wrong = wrong_pictures(ids[batch], theirs, self.image_shape)
                if not wrong:
                    raise
                raise refusal(wrong, self.image_shape) from error

        return self._in_batches(len(images), embed_batch, ids)

    def _in_batches(
        self, count: int, embed: Callable[[slice], Any], ids: Sequence[str]
    ) -> NDArray[np.float32]:
        embeddings = np.empty((count, self.embedding_size), np.float32)
        with progress_bar(count, "embedding", "picture") as bar:
            for start in range(0, count, _BATCH):
                batch = slice(start, start + _BATCH)
                values = np.asarray(embed(batch), np.float32)
                rows = len(ids[batch])
                if values.shape != (rows, self.embedding_size):
                    raise ValueError(
                        f"{self.directory} should give embeddings of shape "
                        f"{(rows, self.embedding_size)} by {self._named()}. Received: "
                        f"{values.shape}."
                    )
                finite = np.isfinite(values).all(axis=1)
                if not finite.all():
                    bad = [ids[start + int(row)] for row in np.flatnonzero(~finite)[:5]]
                    raise ValueError(
                        f"The embeddings of {self.directory} should be finite. "
                        f"Received NaN or infinity for the pictures {bad}; the model "
                        "is broken or takes another range of pixels."
                    )
                embeddings[batch] = values
                bar.update(rows)
        return embeddings

    def _named(self) -> str:
        parts = self.parts
        return f"{parts.signature!r}, {parts.input!r} to {parts.output!r}"

    def _decode_and_embed(self, images: Sequence[bytes]) -> Any:
        pictures = [self._decode(image) for image in images]
        if len({picture.shape for picture in pictures}) == 1:
            return self._embed(np.stack(pictures))
        # A model of any size takes them one by one.
        return np.concatenate([self._embed(picture[None]) for picture in pictures])

    def _decode(self, image: bytes) -> NDArray[np.float32]:
        pixels = decode(image, self.image_shape[2] or 0).numpy()
        self._check_shape("A picture", pixels.shape)
        return np.asarray(pixels, np.float32)

    def _check_shape(
        self,
        what: str,
        shape: tuple[int, ...],
        batch: tuple[int, ...] | None = None,
    ) -> None:
        fits = len(shape) == 3 and all(
            wanted in (None, given)
            for wanted, given in zip(self.image_shape, shape, strict=True)
        )
        if not fits:
            expected = ("n", *self.image_shape) if batch else self.image_shape
            raise ValueError(
                f"{what} should have shape {expected}. Received: {batch or shape}"
            )


def load_embedder(
    directory: str | os.PathLike[str],
    *,
    expected_size: int | None = None,
    signature: str | None = None,
    input: str | None = None,
    output: str | None = None,
    distance: str = "cosine",
) -> Embedder:
    """Load an embedding model from a SavedModel.

    It may be a version that `export_version` wrote, or a predecessor from elsewhere: a
    plain Keras export, or `model.save` of TensorFlow 2.15, also with layers and
    optimizers of tensorflow-addons or tensorflow-similarity. An output called
    `embedding` or `embeddings` is taken, of whatever signature; else the only output of
    `embed`, `serve` or `serving_default`, the first that takes pictures, or of the only
    other one that does. Where that is not what is meant, the parts are named: here, or
    in the file `assets.extra/embedding.json` of the SavedModel, which the registry
    writes. The pixels of a predecessor are passed on as they are.

    Args:
        directory: Holds `saved_model.pb`.
        expected_size: Refuse a model with another embedding size.
        signature: The signature of a predecessor, where the choice is not clear.
        input: The input of the signature that takes pictures, where it does not say so
            or has others; those are filled with zeros.
        output: The output of the signature, where the choice is not clear.
        distance: How the embeddings of a predecessor are compared; a version of ours
            knows its own.

    Raises:
        FileNotFoundError: There is no SavedModel in `directory`.
        ValueError: The SavedModel cannot be loaded, or it has no embedding output, or
            one of another size.

    Example:
        >>> import tempfile
        >>> import keras
        >>> model = keras.Sequential([
        ...     keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(4)
        ... ])
        >>> directory = tempfile.mkdtemp()
        >>> model.export(directory, verbose=False)
        >>> embedder = load_embedder(directory)
        >>> embedder.embedding_size
        4
        >>> embedder.embed(np.zeros((2, 8, 8, 1))).shape
        (2, 4)
    """
    directory = os.fspath(directory)
    if not tf.io.gfile.exists(os.path.join(directory, "saved_model.pb")):
        raise FileNotFoundError(
            "`directory` should be a SavedModel, with saved_model.pb directly inside. "
            f"Received: {directory}."
        )
    named = EmbeddingParts(signature, input, output)
    if named == NOTHING_NAMED:
        named = EmbeddingParts.of(directory)
    try:
        loaded = tf.saved_model.load(directory)
    except Exception as error:
        # TensorFlow ends in whatever it meets first in a file that is damaged.
        raise ValueError(
            f"`directory` should be a SavedModel that TensorFlow loads. Received: "
            f"{directory}, which is damaged, cut short or of another kind: {error}. "
            "Export the model again."
        ) from error
    found = embedding_signature(directory, loaded.signatures, named)
    size = _embedding_size(directory, found)
    if expected_size is not None and size != expected_size:
        raise ValueError(
            f"The embeddings of {directory} should have {expected_size} components. "
            f"Received: {size}."
        )
    return Embedder(
        directory,
        loaded,
        found,
        _own_bytes(found, loaded.signatures),
        embedding_size=size,
        distance=_distance(directory) or distance,
    )


def _embedding_size(directory: str, found: EmbeddingSignature) -> int:
    """Components of the embedding; some models tell it only when they run."""
    shape = found.function.structured_outputs[found.parts.output].shape
    if shape.rank is None or shape[-1] is None:
        try:
            shape = found.embed(_made_pictures(found.image_shape)).shape
        except tf.errors.OpError as error:
            raise ValueError(
                f"{directory} should tell how many components its embedding has, or "
                f"embed pictures. Received, for two made pictures: {error.message}"
            ) from error
    return int(shape[-1]) if shape.rank else 0


def _own_bytes(
    found: EmbeddingSignature, signatures: Mapping[str, Any]
) -> Callable[[Any], Any] | None:
    """Give `embed_bytes` as `export_version` writes it beside `embed`."""
    beside = EmbeddingParts("embed", found.parts.input, "embedding")
    of_bytes = signatures.get("embed_bytes")
    if found.parts != beside or of_bytes is None:
        return None
    if [*of_bytes.structured_input_signature[1]] != ["image_bytes"] or (
        "embedding" not in of_bytes.structured_outputs
    ):
        return None

    def embed_bytes(images: Sequence[bytes]) -> Any:
        return of_bytes(image_bytes=tf.constant(images, tf.string))["embedding"]

    return embed_bytes


def _made_pictures(image_shape: ImageShape) -> NDArray[np.uint8]:
    """Give two pictures of noise as a model takes them."""
    height, width, channels = image_shape
    shape = (2, height or _TRIED_SIDE, width or _TRIED_SIDE, channels or 3)
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def _distance(directory: str) -> str | None:
    """Read the distance of a version that `export_version` wrote.

    Raises:
        ValueError: The file that says it is damaged.
    """
    path = Path(directory, "assets.extra", "version.json")
    if not path.is_file():
        return None
    try:
        distance = json.loads(path.read_text(encoding="utf-8"))["distance"]
    except (ValueError, TypeError, KeyError) as error:
        distance = f"{type(error).__name__}: {error}"
    if distance not in DISTANCES:
        raise ValueError(
            f"{path} should be a JSON object whose `distance` is one of "
            f"{', '.join(DISTANCES)}. Received: {distance!r}. Export the model again."
        )
    return str(distance)
