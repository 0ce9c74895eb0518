"""From stored embeddings to a trained alignment model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bct import layers, losses
from keras_bct.alignment.batch_statistics import FreezeBatchStatistics
from keras_bct.alignment.recipe import AlignmentRecipe
from keras_bct.classifier import Classifier
from keras_bct.models.alignment_model import AlignmentModel


def fit_alignment(
    recipe: AlignmentRecipe,
    old: NDArray[Any],
    new: NDArray[Any],
    *,
    labels: Sequence[str] | None = None,
    classifier: Classifier | None = None,
    side_information: NDArray[Any] | None = None,
    verbose: int = 0,
) -> AlignmentModel:
    """Train a map from old to new embeddings of the same items."""
    pairs = len(old)
    batch_size = min(recipe.batch_size, pairs)
    steps = pairs // batch_size
    model = compiled_model(recipe, new.shape[1], classifier, steps)
    inputs = {"old_embedding": np.asarray(old, np.float32)}
    if side_information is not None:
        inputs["side_information"] = np.asarray(side_information, np.float32)
    targets: dict[str, NDArray[Any]] = {"embedding": np.asarray(new, np.float32)}
    if classifier is not None and labels is not None:
        targets["label"] = classifier.labels(labels)
    data = (
        tf.data.Dataset.from_tensor_slices((inputs, targets))
        .shuffle(pairs, seed=recipe.seed)
        .batch(batch_size, drop_remainder=True)
        .prefetch(2)
    )
    switch = math.ceil(recipe.batch_statistics_share * recipe.epochs)
    model.fit(
        data,
        epochs=recipe.epochs,
        callbacks=[FreezeBatchStatistics(switch)],
        verbose=verbose,
    )
    return model


def compiled_model(
    recipe: AlignmentRecipe,
    embedding_size: int,
    classifier: Classifier | None,
    steps_per_epoch: int,
) -> AlignmentModel:
    """Give the untrained model of a recipe, compiled."""
    uncertainty = None
    if recipe.uncertainty != "none":
        uncertainty = layers.UncertaintyHead(
            embedding_size if recipe.uncertainty == "components" else 1
        )
    discriminative = frozen = None
    if recipe.discriminative_weight > 0 and classifier is not None:
        discriminative = losses.for_classifier(classifier)
        frozen = layers.FrozenClassifier(classifier)
    model = AlignmentModel(
        layers.AlignmentMap(
            embedding_size,
            hidden_size=recipe.hidden_size,
            kernel_regularizer=keras.regularizers.L2(recipe.weight_decay / 2)
            if recipe.weight_decay
            else None,
            seed=recipe.seed,
        ),
        uncertainty,
        frozen,
    )
    loss: keras.losses.Loss = losses.Alignment(
        losses.FeatureAlignment(recipe.components),
        discriminative,
        discriminative_weight=recipe.discriminative_weight,
    )
    if uncertainty is not None:
        loss = losses.FastFill(loss, log_variance_weight=recipe.log_variance_weight)
    warm_up = recipe.warm_up_epochs * steps_per_epoch
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0 if warm_up else recipe.learning_rate,
        decay_steps=max(1, recipe.epochs * steps_per_epoch - warm_up),
        warmup_target=recipe.learning_rate if warm_up else None,
        warmup_steps=warm_up,
    )
    model.compile(keras.optimizers.Adam(schedule), loss=loss, jit_compile=False)
    return model
