"""The oracle's priority: what the alignment loss itself says of every item."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.classifier import Classifier
from keras_bct.evaluation import EmbeddingSet


def alignment_loss(
    mapped: EmbeddingSet, new: EmbeddingSet, classifier: Classifier
) -> npt.NDArray[np.float64]:
    """Gives L_l2+disc of each item without sigma ("cheating"), in float64.

    L_l2 is the mean over the components, as in the authors' code, on what the map
    gives; L_disc the CosFace loss through the new classifier, which counts 0 for a
    class that it does not have.

    Args:
        mapped: n aligned old embeddings with their class names.
        new: The same items embedded by the new model.
        classifier: The new model's, of kind `cosface`.

    Returns:
        (n,), higher for items that should come first.
    """
    error = ((mapped.embeddings.astype(np.float64) - new.embeddings) ** 2).mean(axis=1)
    labels = classifier.labels(mapped.labels.tolist())
    cosines = _unit(mapped.embeddings) @ _unit(classifier.weights).T
    known = np.flatnonzero(labels >= 0)
    logits = cosines
    logits[known, labels[known]] -= float(classifier.margin or 0)
    logits = float(classifier.scale or 1) * logits
    highest = logits.max(axis=1)
    total = highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))
    loss = np.zeros(len(labels))
    loss[known] = total[known] - logits[known, labels[known]]
    return np.asarray(error + loss)


def _unit(rows: Any) -> npt.NDArray[np.float64]:
    rows = np.asarray(rows, np.float64)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
