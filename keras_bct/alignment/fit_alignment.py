"""From stored embeddings to a trained alignment model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bct.alignment.batch_statistics import FreezeBatchStatistics
from keras_bct.alignment.compiled_model import compiled_model
from keras_bct.alignment.recipe import AlignmentRecipe
from keras_bct.alignment.stored_pairs import StoredPairs
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
    """Train a map from old to new embeddings of the same items.

    Under `strategy.scope()` all replicas train it. Where there are fewer pairs than a
    batch should have, batches are smaller, and even for all replicas.

    Args:
        recipe: How.
        old: `(n, d_old)` raw embeddings of the old version, of a floating type.
        new: `(n, d_new)` raw embeddings of the new version of the same items.
        labels: n class names; needed for L_disc and for `held_out_classes`.
        classifier: The new model's own, as its version keeps it. None: the mean new
            embedding of each class takes the place of its row; so it does with
            `unit_length` for a Softmax, which knows embeddings as they are.
        side_information: `(n, d_s)` features of the same items, or None.
        verbose: As in Keras.

    Returns:
        The trained model; `model.transform` maps embeddings, `export_alignment` makes
        it an adapter.

    Raises:
        ValueError: Shapes that do not fit, NaN or infinity or what float32 cannot
            square, no labels where they are needed or one that is missing, labels of
            which the classifier knows none, labels of one class without a classifier, a
            batch that does not divide among the replicas, or a training that diverged.
        TypeError: No floating type.

    Example:
        >>> import numpy as np
        >>> generator = np.random.default_rng(0)
        >>> old = generator.normal(size=(64, 4)).astype("float32")
        >>> fct = AlignmentRecipe(
        ...     discriminative_weight=0, uncertainty="none", hidden_size=8, epochs=6
        ... )
        >>> model = fit_alignment(fct, old, old[:, :3])
        >>> model.transform(old)[0].shape
        (64, 3)
    """
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    if recipe.batch_size is not None and recipe.batch_size % replicas:
        raise ValueError(
            f"`batch_size` should be a multiple of {replicas}, the number of devices. "
            f"Received: {recipe.batch_size}."
        )
    pairs = StoredPairs.of(recipe, old, new, labels, classifier, side_information)
    trained, held_out = pairs.parted(recipe.held_out_classes, recipe.seed)
    # All of a batch's shares have to be of one size.
    batch_size = min(recipe.chosen_batch_size(len(trained)), len(trained))
    batch_size = batch_size // replicas * replicas
    if not batch_size:
        raise ValueError(
            f"`old` should have an item for each of {replicas} devices at least. "
            f"Received: {len(trained)} to train on."
        )
    steps = max(1, round(len(trained) / batch_size))
    model = compiled_model(recipe, trained, steps)
    callbacks: list[keras.callbacks.Callback] = []
    if recipe.base == "none":
        switch = math.ceil(recipe.batch_statistics_share * recipe.epochs)
        callbacks.append(FreezeBatchStatistics(switch))
    if held_out is not None:
        callbacks.append(
            keras.callbacks.EarlyStopping(
                "val_loss", patience=recipe.epochs, restore_best_weights=True
            )
        )
    model.fit(
        trained.batches(batch_size, recipe.seed),
        epochs=recipe.epochs,
        steps_per_epoch=steps,
        validation_data=None
        if held_out is None
        else held_out.dataset().batch(batch_size),
        callbacks=callbacks,
        verbose=verbose,
    )
    losses = model.history.history["loss"]
    ends = (losses[-1], *model.get_weights())
    if not all(np.isfinite(values).all() for values in ends):
        raise ValueError(
            "The training should end with finite weights. Received NaN or infinity, "
            f"after a loss of {losses[0]:.3g} in the first epoch: it diverged. Lower "
            "`learning_rate`, or divide `old` and `new` so that their components are "
            "about 1."
        )
    return model
