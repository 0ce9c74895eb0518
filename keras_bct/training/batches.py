"""The batches that a recipe trains on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bct import data
from keras_bct.training.augmentation import make_augmentation
from keras_bct.training.pictures import TrainingPictures
from keras_bct.training.recipe import Recipe
from keras_bct.training.terms import Term


def training_batches(
    recipe: Recipe,
    pictures: TrainingPictures,
    *,
    old_class_names: Sequence[str] | None,
    terms: Sequence[Term],
    first_step: int = 0,
) -> tf.data.Dataset:
    """Gives endless batches of pictures and of the labels of every output.

    Args:
        recipe: Batch size, augmentation and seed.
        pictures: What is trained on; its classes are the rows of the new classifier.
        old_class_names: The rows of the old one, or None.
        terms: The terms whose labels are wanted.
        first_step: Where a training that stopped goes on.
    """
    batches = data.training_dataset(
        pictures.records,
        class_names=pictures.class_names,
        old_class_names=old_class_names,
        image_shape=recipe.image_shape,
        batch_size=recipe.batch_size,
        seed=recipe.seed,
        augmentation=make_augmentation(recipe.augmentation),
        pictures_per_class=recipe.pictures_per_class,
        first_step=first_step,
    )

    def with_labels(images: Any, labels: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        of_terms = {term.output: term.labels(labels) for term in terms}
        return images, {"new": labels["new"], **of_terms}

    batches = batches.map(with_labels)
    # Several workers share out each batch; there are no files to share out.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return batches.with_options(options)
