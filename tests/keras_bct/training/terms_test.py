"""Which terms a method has, and which samples they count."""

import numpy as np
import pytest
from keras import ops

from keras_bct.classifier import Classifier
from keras_bct.training import Recipe
from keras_bct.training.terms import terms

OLD = Classifier("arcface", np.eye(2, 4), ("a", "b"), scale=30.0, margin=0.5)
# Classes a and b are known to the old model, c and d are not.
LABELS = {
    "new": np.array([3, 0, 2, 1], np.int32),
    "old": np.array([-1, 0, -1, 1], np.int32),
}


def counted(method: str) -> dict[str, list[int]]:
    """For each term's output its labels."""
    made = terms(Recipe(method, 8, 10), OLD)
    return {
        term.output: ops.convert_to_numpy(term.labels(LABELS)).tolist() for term in made
    }


def test_independent_has_none() -> None:
    assert counted("independent") == {}


def test_l2_compares_embeddings_of_the_old_classes() -> None:
    assert counted("l2") == {"embeddings": [-1, 0, -1, 1]}


def test_ract_contrasts_the_embeddings_of_every_class() -> None:
    assert counted("ract") == {"embeddings": [3, 0, 2, 1]}
    (term,) = terms(Recipe("ract", 8, 10, temperature=0.05), OLD)
    assert term.loss.temperature == 0.05


@pytest.mark.parametrize("method", ["beta", "beta-sys"])
def test_beta_influences_what_the_old_classifier_knows(method: str) -> None:
    assert counted(method) == {"old": [-1, 0, -1, 1]}


def test_beta_kd_distils_every_class() -> None:
    assert counted("beta-kd") == {
        "old": [-1, 0, -1, 1],
        "distillation": [3, 0, 2, 1],
    }


def test_lwf_distils_the_new_classes_only() -> None:
    assert counted("lwf") == {
        "old": [-1, 0, -1, 1],
        "distillation": [3, -1, 2, -1],
    }


def test_the_old_classifier_keeps_its_form() -> None:
    (term,) = terms(Recipe("beta", 8, 10, loss="cosface", scale=24.0), OLD)
    assert (term.loss.loss.kind, term.loss.loss.scale, term.loss.loss.margin) == (
        "arcface",
        30.0,
        0.5,
    )


def test_weights_are_the_recipes() -> None:
    recipe = Recipe(
        "beta-kd", 8, 10, influence_weight=2.0, distillation_weight=9.0, temperature=3.0
    )
    influence, distillation = terms(recipe, OLD)
    assert (influence.weight, distillation.weight) == (2.0, 9.0)
    assert distillation.loss.temperature == 3.0
