"""The compiled model of a recipe."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import keras

from keras_bct import layers, losses, models
from keras_bct.classifier import Classifier
from keras_bct.training.course import Course
from keras_bct.training.networks import (
    make_backbone,
    make_head,
    make_loss,
    make_size_map,
)
from keras_bct.training.optimizer import make_optimizer
from keras_bct.training.recipe import Recipe
from keras_bct.training.terms import Term


@dataclasses.dataclass(frozen=True)
class Assembly:
    """A model ready to be fitted, and the parts that are kept of it.

    Attributes:
        model: Compiled, with the outputs of `compatible_model`.
        backbone: Pictures to embeddings.
        head: The new classifier.
        loss: Its loss.
        size_map: The learned map to the old size, or None.
    """

    model: keras.Model
    backbone: keras.Model
    head: layers.CosineHead | layers.LinearHead
    loss: losses.ClassifierLoss
    size_map: keras.layers.Dense | None


def assemble(
    recipe: Recipe,
    classes: int,
    old: Classifier | None,
    terms: Sequence[Term],
    predecessor: str | None,
    course: Course,
) -> Assembly:
    """Puts backbone, head, frozen old classifier and terms together, and compiles.

    To be called in the scope of the strategy that it is trained under.

    Args:
        recipe: How to train.
        classes: Of the new classifier.
        old: The old classifier, or None.
        terms: What is added to the new classifier's loss.
        predecessor: The old version, run frozen where a term compares embeddings.
        course: Of the learning rate.
    """
    keras.utils.set_random_seed(recipe.seed)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(recipe.precision)
    try:
        backbone = make_backbone(recipe)
        head = make_head(recipe, classes)
        size_map = make_size_map(recipe, old)
        outputs = {term.output for term in terms}
        old_model = None
        if predecessor is not None and outputs - {"old"}:
            old_model = models.FrozenEmbedder(predecessor)
        model = models.compatible_model(
            backbone,
            head,
            old if "old" in outputs else None,
            terms=sorted(outputs - {"old"}),
            old_model=old_model,
            size_map=size_map,
        )
        if recipe.strategy == "multi-worker":
            model = models.MultiWorkerModel(model.input, model.output)
    finally:
        keras.config.set_dtype_policy(before)
    loss = make_loss(recipe)
    model.compile(
        optimizer=make_optimizer(recipe, course),
        loss={"new": loss, **{term.output: term.loss for term in terms}},
        loss_weights={"new": 1.0, **{term.output: term.weight for term in terms}},
        # What Keras calls "auto" is XLA, which takes twice as long on a CPU.
        jit_compile=False,
    )
    return Assembly(model, backbone, head, loss, size_map)
