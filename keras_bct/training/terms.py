"""The terms of compatible training beside the new classifier's loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras

from keras_bct import losses
from keras_bct.classifier import Classifier
from keras_bct.training.recipe import Recipe

SAMPLES = ("all", "old classes", "new classes")


@dataclasses.dataclass(frozen=True)
class Term:
    """A loss on one output of the compatible model, and the samples that it counts.

    Attributes:
        output: The model's output; see `keras_bct.models.compatible_model`.
        loss: The loss.
        weight: Its weight.
        samples: `old classes`: those that the old model knows; `new classes`: the
            others; or `all`.
    """

    output: str
    loss: keras.losses.Loss
    weight: float
    samples: str

    def labels(self, labels: Mapping[str, Any]) -> Any:
        """Gives the labels of the term, -1 for a sample that does not count.

        Args:
            labels: `new` and `old` int32 `(batch,)`, as `training_dataset` gives them.
        """
        if self.samples == "all":
            return labels["new"]
        if self.samples == "old classes":
            return labels["old"]
        return keras.ops.where(labels["old"] < 0, labels["new"], -1)


def terms(recipe: Recipe, old: Classifier) -> tuple[Term, ...]:
    """Gives the terms of a recipe's method (docs/methods.md, section 3).

    Args:
        recipe: Method and weights.
        old: The old classifier, for beta-sys with the synthesised rows.

    Example:
        >>> import numpy as np
        >>> old = Classifier("cosface", np.eye(2), ("a", "b"), scale=24, margin=0.3)
        >>> [term.output for term in terms(Recipe("lwf", 8, 10), old)]
        ['old', 'distillation']
    """
    if recipe.method == "independent":
        return ()
    weight = recipe.influence_weight
    if recipe.method == "l2":
        return (Term("embeddings", losses.L2(), weight, "old classes"),)
    if recipe.method == "ract":
        contrastive = losses.Contrastive(temperature=recipe.temperature)
        return (Term("embeddings", contrastive, weight, "all"),)
    form = losses.for_classifier(old)
    influence = Term("old", losses.Influence(form), weight, "old classes")
    if recipe.method not in ("beta-kd", "lwf"):
        return (influence,)
    return (
        influence,
        Term(
            "distillation",
            losses.Distillation(form, temperature=recipe.temperature),
            recipe.distillation_weight,
            # LwF's soft labels stand in where the old model has no class.
            "all" if recipe.method == "beta-kd" else "new classes",
        ),
    )
