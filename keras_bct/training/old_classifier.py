"""The predecessor's classifier, with the rows that a recipe asks for."""

from __future__ import annotations

import os

import numpy as np

from keras_bct import models
from keras_bct.classifier import Classifier, synthesize
from keras_bct.training.pictures import TrainingPictures
from keras_bct.training.recipe import Recipe


def old_classifier(
    recipe: Recipe, predecessor: str, pictures: TrainingPictures
) -> Classifier:
    """Gives what the new embedding is tied to.

    The old rows as they were trained, or the means of the old embeddings of each
    class; `beta-sys` adds a row for every class that the old model never saw. Only
    the pictures whose old embeddings are needed are embedded.

    Args:
        recipe: Its method and `old_rows` decide.
        predecessor: Directory of the old version.
        pictures: The training pictures.

    Raises:
        FileNotFoundError: The old version holds no classifier.
    """
    old = Classifier.load(os.path.join(predecessor, "assets.extra"))
    known = np.isin(pictures.labels, old.class_names)
    means = recipe.old_rows == "means"
    needed = np.zeros(len(pictures), bool)
    if means:
        needed |= known
    if recipe.method == "beta-sys":
        needed |= ~known
    if not needed.any():
        return old
    rows = np.flatnonzero(needed)
    embeddings = models.load_embedder(predecessor).embed_bytes(
        pictures.encoded(rows), pictures.ids[rows].tolist()
    )
    labels = pictures.labels[rows]
    if not means:
        return synthesize(old, embeddings, labels.tolist())
    # Not Classifier.from_embeddings, which gives the same directions at unit length:
    # the last bit of a cosine would be another one, and so would be the versions that
    # are kept under the digest of such a recipe.
    names = sorted(set(labels.tolist()))
    return Classifier(
        "cosface",
        np.stack([embeddings[labels == name].mean(axis=0) for name in names]),
        tuple(names),
        scale=recipe.scale,
        margin=recipe.margin,
    )
