"""The untrained alignment model of a recipe."""

from __future__ import annotations

from typing import Any

import keras

from keras_bct import layers, losses
from keras_bct.adapters import Ridge
from keras_bct.alignment.recipe import AlignmentRecipe
from keras_bct.alignment.stored_pairs import StoredPairs
from keras_bct.models.alignment_model import AlignmentModel


def compiled_model(
    recipe: AlignmentRecipe, pairs: StoredPairs, steps_per_epoch: int
) -> AlignmentModel:
    """Give the untrained model of a recipe, compiled.

    Args:
        recipe: How it will be trained.
        pairs: What it will be trained on; gives sizes, classifier and closed form.
        steps_per_epoch: Of the learning rate's course.
    """
    size = pairs.new.shape[1]
    uncertainty = None
    if recipe.uncertainty != "none":
        uncertainty = layers.UncertaintyHead(
            size if recipe.uncertainty == "components" else 1
        )
    discriminative = frozen = None
    if pairs.classifier is not None:
        smoothing = recipe.label_smoothing if pairs.classifier.kind == "softmax" else 0
        discriminative = losses.for_classifier(
            pairs.classifier, label_smoothing=smoothing
        )
        frozen = layers.FrozenClassifier(pairs.classifier)
    loss: keras.losses.Loss = losses.Alignment(
        losses.FeatureAlignment(recipe.components),
        discriminative,
        discriminative_weight=recipe.discriminative_weight,
    )
    if uncertainty is not None:
        loss = losses.FastFill(loss, log_variance_weight=recipe.log_variance_weight)
    model = AlignmentModel(
        _map(recipe, pairs), uncertainty, frozen, unit_length=recipe.unit_length
    )
    model.compile(
        keras.optimizers.Adam(_course(recipe, steps_per_epoch)),
        loss=loss,
        # What Keras calls "auto" is XLA, which takes twice as long on a CPU.
        jit_compile=False,
    )
    return model


def _map(recipe: AlignmentRecipe, pairs: StoredPairs) -> keras.Layer:
    regularizer = None
    if recipe.weight_decay:
        regularizer = keras.regularizers.L2(recipe.weight_decay / 2)
    options: dict[str, Any] = {
        "hidden_size": recipe.hidden_size,
        "kernel_regularizer": regularizer,
        "seed": recipe.seed,
    }
    if recipe.base == "none":
        return layers.AlignmentMap(pairs.new.shape[1], **options)
    rows = pairs.rows(recipe.unit_length)
    fewest = Ridge().fewest_pairs(rows.shape[1], pairs.new.shape[1])
    if len(rows) < fewest:
        raise ValueError(
            f"`old` should have at least {fewest} items to train on for base 'ridge'. "
            f"Received: {len(rows)}."
        )
    closed_form, _ = Ridge().learn(rows, pairs.new, ("old", "new"))
    return layers.ResidualAlignment(
        closed_form.matrix,
        closed_form.offset,
        dropout=recipe.dropout,
        **options,
    )


def _course(recipe: AlignmentRecipe, steps_per_epoch: int) -> Any:
    """A cosine from the highest learning rate to 0, after a linear rise from 0."""
    warm_up = recipe.warm_up_epochs * steps_per_epoch
    return keras.optimizers.schedules.CosineDecay(
        0.0 if warm_up else recipe.learning_rate,
        decay_steps=recipe.epochs * steps_per_epoch - warm_up,
        warmup_target=recipe.learning_rate if warm_up else None,
        warmup_steps=warm_up,
    )
