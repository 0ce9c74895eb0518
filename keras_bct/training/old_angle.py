"""How far the new embeddings are from the old classifier's rows, as an angle."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_bct.classifier import Classifier
from keras_bct.training.inference import Inference
from keras_bct.training.pictures import TrainingPictures

_AT_MOST = 256


def angles_to_old(
    embeddings: npt.ArrayLike, labels: npt.ArrayLike, old: Classifier
) -> npt.NDArray[np.float64]:
    """Gives the angle between each embedding and the row of its old class, in degrees.

    Args:
        embeddings: `(n, d_old or more)`; the first d_old components count.
        labels: `(n,)` rows of the old classifier.
        old: The old classifier.

    Returns:
        `(n,)` float64, 0 to 180.

    Example:
        >>> old = Classifier("cosface", np.eye(2), ("a", "b"), scale=24, margin=0.3)
        >>> angles_to_old([[1.0, 1.0, 9.0], [0.0, 2.0, 9.0]], [0, 1], old).round(3)
        array([45.,  0.])
    """
    vectors = np.asarray(embeddings, np.float64)[:, : old.embedding_size]
    rows = old.weights[np.asarray(labels)].astype(np.float64)
    products = np.sum(vectors * rows, axis=1)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(rows, axis=1)
    cosines = products / np.maximum(lengths, np.finfo(np.float64).tiny)
    return np.asarray(np.degrees(np.arccos(np.clip(cosines, -1, 1))))


class OldAngle(keras.callbacks.Callback):
    """At every interval the mean angle to the old rows, as `old_angle` in the logs.

    It looks at some training pictures that have an old label, always the same and as
    they are, without augmentation.

    Args:
        embed: The network as it stands.
        pictures: The training pictures.
        old: The old classifier.
    """

    def __init__(
        self, embed: Inference, pictures: TrainingPictures, old: Classifier
    ) -> None:
        super().__init__()
        known = np.flatnonzero(np.isin(pictures.labels, old.class_names))
        self._embed = embed
        self._old = old
        # Evenly over the set, which may be in the order of its classes.
        evenly = np.linspace(0, len(known) - 1, min(len(known), _AT_MOST))
        chosen = known[evenly.astype(int)]
        self._labels = old.labels(pictures.labels[chosen])
        self._pixels = pictures.decoded(chosen)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Adds the mean angle to the logs."""
        if logs is not None and len(self._labels):
            angles = angles_to_old(self._embed(self._pixels), self._labels, self._old)
            logs["old_angle"] = float(angles.mean())
