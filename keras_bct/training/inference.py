"""The network as it stands, run without being trained."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

_BATCH = 256


class Inference:
    """Pictures to embeddings by a network that is being trained.

    Args:
        backbone: Pictures to embeddings.
        size_map: What follows it where embeddings are compared with old ones, or None.
    """

    def __init__(
        self, backbone: keras.Model, size_map: keras.Layer | None = None
    ) -> None:
        def run(pictures: Any) -> Any:
            embeddings = backbone(tf.cast(pictures, tf.float32), training=False)
            if size_map is not None:
                embeddings = size_map(embeddings)
            return tf.cast(embeddings, tf.float32)

        shape = (None, *backbone.input_shape[1:])
        # Traced once; Python has no part in a batch.
        self._run = tf.function(run, input_signature=[tf.TensorSpec(shape, tf.uint8)])

    def __call__(self, pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Embeds n pictures, uint8 `(n, height, width, channels)`, in batches.

        Returns:
            `(n, d)` float32, raw.
        """
        parts = [
            np.asarray(self._run(pictures[start : start + _BATCH]))
            for start in range(0, len(pictures), _BATCH)
        ]
        return np.concatenate(parts)
