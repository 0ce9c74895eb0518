"""A map is judged by the loss that it was trained by."""

import numpy as np
import pytest
from scipy import special, stats

from keras_bct import adapters
from keras_bct.alignment import AlignmentRecipe
from keras_bct.classifier import Classifier
from keras_bct.experiments.fastfill.map_methods import (
    Adapted,
    Aligned,
    Backward,
    MappedItems,
    Pairs,
    Unmapped,
)

NAMES = tuple("abcdef")
SCALE, MARGIN = 8.0, 0.2


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def items():
    """Mapped unit vectors, new embeddings of many lengths, their classes."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(6, 4))
    label = np.arange(90) % 6
    directions = unit(centres[label] + 0.5 * generator.normal(size=(90, 4)))
    mapped = unit(directions + 0.4 * generator.normal(size=(90, 4)))
    new = directions * generator.uniform(5, 25, size=(90, 1))
    classifier = Classifier("cosface", centres, NAMES, scale=SCALE, margin=MARGIN)
    return mapped, new, np.array(NAMES)[label], classifier


def cosface(mapped, labels, classifier):
    """By its formula, docs/methods.md, section 2, in float64."""
    cosines = unit(mapped) @ unit(classifier.weights.astype(float)).T
    target = classifier.labels(labels.tolist())
    own = np.arange(len(mapped)), target
    logits = SCALE * cosines
    logits[own] -= SCALE * MARGIN
    return special.logsumexp(logits, axis=1) - logits[own]


def same_order(one, other):
    return stats.kendalltau(one, other).statistic == pytest.approx(1.0)


@pytest.mark.parametrize("unit_length", [True, False])
@pytest.mark.parametrize("components", ["mean", "sum"])
@pytest.mark.parametrize("weight", [0.0, 0.05, 1.0])
def test_an_alignment_model_is_by_its_own_recipe(
    items, unit_length, components, weight
):
    mapped, new, labels, classifier = items
    recipe = AlignmentRecipe(
        components=components, discriminative_weight=weight, unit_length=unit_length
    )
    wrong = (mapped - (unit(new) if unit_length else new)) ** 2
    expected = getattr(wrong, components)(axis=1)
    expected = expected + weight * cosface(mapped, labels, classifier)

    assert same_order(
        Aligned(recipe).loss(MappedItems(mapped, new, labels, classifier)), expected
    )


def test_classes_that_the_new_model_does_not_know_have_no_discriminative_loss(items):
    mapped, new, labels, classifier = items
    recipe = AlignmentRecipe(unit_length=True)
    unknown = np.char.upper(labels)

    found = Aligned(recipe).loss(MappedItems(mapped, new, unknown, classifier))

    assert same_order(found, ((mapped - unit(new)) ** 2).sum(axis=1))


@pytest.mark.parametrize(
    "method",
    [
        Unmapped(),
        Adapted(adapters.Ridge()),
        Aligned(AlignmentRecipe(unit_length=True, discriminative_weight=0.0)),
    ],
)
def test_the_length_of_new_embeddings_does_not_matter_where_directions_are_compared(
    items, method
):
    mapped, new, labels, classifier = items
    lengths = np.random.default_rng(1).uniform(0.1, 10, size=(len(new), 1))

    one = method.loss(MappedItems(mapped, new, labels, classifier))
    other = method.loss(MappedItems(mapped, lengths * new, labels, classifier))

    np.testing.assert_allclose(one, other, atol=1e-6)


def test_backward_takes_new_embeddings_to_old_ones(items):
    _, new, labels, classifier = items
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    old = unit(new) @ turn
    method = Backward(adapters.LambdaOrthogonal(bound=0.0, contrastive_weight=0.0))

    mapped, variance = method.fit(Pairs(old, new, labels, classifier))(new, None)

    assert variance is None
    np.testing.assert_allclose(mapped, old, atol=1e-6)
    np.testing.assert_allclose(
        method.loss(MappedItems(3 * old, mapped, labels, classifier)), 0, atol=1e-6
    )
