"""Prototype classification: a class is the mean of its gallery embeddings."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.embedding_set import EmbeddingSet


def prototypes_of(gallery: EmbeddingSet) -> EmbeddingSet:
    """The mean raw embedding of each class.

    Args:
        gallery: n items of k labels.

    Returns:
        k items in the order of the labels; a label is its own id.

    Example:
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 4.0]])
        >>> prototypes_of(
        ...     EmbeddingSet(list("abc"), list("xxy"), None, rows)
        ... ).embeddings.tolist()
        [[0.5, 0.5], [0.0, 4.0]]
    """
    labels, code = np.unique(gallery.labels, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(labels)))
    ends = np.append(starts[1:], len(order))
    means = np.empty((len(labels), gallery.embedding_size), np.float32)
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        rows = gallery.embeddings[order[start:end]]
        means[i] = rows.mean(axis=0, dtype=np.float64)
    return EmbeddingSet(labels, labels, None, means)
