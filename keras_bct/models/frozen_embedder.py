"""The old model run inside the training of its successor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bct.models.embedder import load_embedder


@keras.saving.register_keras_serializable(package="keras_bct")
class FrozenEmbedder(keras.Layer):
    """Pictures to the old model's embeddings, `(batch, d_old)` float32, frozen.

    It runs the old model on the very batch, augmentation included, that the new one
    sees. The cheaper way is to store the old embeddings once and to train with them as
    an input; see `compatible_model`.

    Its weights stay in the SavedModel: they are neither trained nor saved with the new
    model, whose `.keras` file names the directory alone.

    Args:
        directory: The old model, any SavedModel that `load_embedder` takes.
        signature: The signature to run, where the choice is not clear.
        input: The input of the signature that takes the pictures, likewise.
        output: The output of the signature, where the choice is not clear.
        **kwargs: `name` and the like of `keras.Layer`.

    Raises:
        FileNotFoundError: There is no SavedModel in `directory`.
        ValueError: The SavedModel has no embedding output.

    Example:
        >>> import tempfile
        >>> old = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten()])
        >>> directory = tempfile.mkdtemp()
        >>> old.export(directory, verbose=False)
        >>> FrozenEmbedder(directory)(tf.zeros((2, 8, 8, 1))).shape
        TensorShape([2, 64])
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        signature: str | None = None,
        input: str | None = None,
        output: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        kwargs["trainable"] = False
        super().__init__(**kwargs)
        self.directory = os.fspath(directory)
        self.signature = signature
        self.input_name = input
        self.output_name = output
        self._embedder = load_embedder(
            self.directory, signature=signature, input=input, output=output
        )

    def call(self, pictures: Any) -> Any:
        """Give the old embeddings; no gradient passes."""
        return tf.cast(tf.stop_gradient(self._embedder.run(pictures)), tf.float32)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Give `(batch, d_old)`."""
        return (input_shape[0], self._embedder.embedding_size)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        config = super().get_config()
        del config["trainable"]
        return {
            **config,
            "directory": self.directory,
            "signature": self.signature,
            "input": self.input_name,
            "output": self.output_name,
        }
