"""Against SciPy's softmax in float64, term by term."""

import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bct.adapters.embedding_rows import BLOCK_ROWS
from keras_bct.backfill import alignment_error, highest_first
from keras_bct.classifier import Classifier

NAMES = ("ka", "ki", "ku")


@pytest.fixture
def items():
    """Gives mapped and new embeddings, and labels, some of a class of no classifier."""
    generator = np.random.default_rng(0)
    mapped, new = generator.normal(size=(2, 5000, 4))
    labels = generator.choice([*NAMES, "unknown"], 5000)
    return mapped, new, labels


@pytest.fixture
def weights():
    return np.random.default_rng(1).normal(size=(3, 4))


def cosines(rows, weights):
    unit = [
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (rows, weights)
    ]
    return unit[0] @ unit[1].T


def cross_entropy(logits, labels):
    """Zero for labels that the classifier lacks."""
    codes = np.array([NAMES.index(name) if name in NAMES else -1 for name in labels])
    values = -log_softmax(logits, axis=1)[np.arange(len(codes)), codes]
    return np.where(codes >= 0, values, 0.0)


@pytest.mark.parametrize("components", ["sum", "mean"])
def test_softmax(items, weights, components):
    mapped, new, labels = items
    bias = np.array([0.5, -1.0, 0.0])
    squared = getattr(((mapped - new) ** 2), components)(axis=1)
    expected = squared + cross_entropy(mapped @ weights.T + bias, labels)

    found = alignment_error(
        mapped,
        new,
        labels,
        Classifier("softmax", weights, NAMES, bias=bias),
        components=components,
    )

    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert highest_first(found)[0] == np.argmax(expected)


def test_cosface(items, weights):
    mapped, new, labels = items
    cosine = cosines(mapped, weights)
    for i, name in enumerate(labels):
        if name in NAMES:
            cosine[i, NAMES.index(name)] -= 0.3
    expected = ((mapped - new) ** 2).mean(axis=1)
    expected += 0.5 * cross_entropy(10 * cosine, labels)

    found = alignment_error(
        mapped.astype(np.float32),
        new.astype(np.float32),
        labels,
        Classifier("cosface", weights, NAMES, scale=10.0, margin=0.3),
        components="mean",
        discriminative_weight=0.5,
    )

    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("softmax", {"bias": np.array([0.5, -1.0, 0.0])}),
        ("normsoftmax", {"scale": 20.0}),
        ("sphereface", {"margin": 4.0}),
        ("cosface", {"scale": 10.0, "margin": 0.3}),
        ("arcface", {"scale": 10.0, "margin": 0.3}),
    ],
)
@pytest.mark.parametrize("many", [2, 7, BLOCK_ROWS + 1])
def test_equal_items_have_equal_errors_however_many_there_are(
    items, weights, kind, form, many
):
    mapped, new, labels = (side[:50] for side in items)
    classifier = Classifier(kind, weights, NAMES, **form)

    def errors(repeats):
        sides = (np.repeat(side, repeats, axis=0) for side in (mapped, new, labels))
        return alignment_error(*sides, classifier, components="sum")

    np.testing.assert_array_equal(errors(many), np.repeat(errors(1), many))


def test_of_equal_errors_the_item_of_the_wrong_class_comes_first():
    classifier = Classifier("softmax", 5 * np.eye(2), ("ka", "ki"))
    mapped = np.array([[1.0, 0.0], [0.0, 1.0]])

    right, wrong = alignment_error(
        mapped, mapped + 0.1, ["ka", "ka"], classifier, components="sum"
    )

    assert wrong > right + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mapped": np.ones((2, 4))}, "2 and 3 rows"),
        ({"new": np.ones((3, 5))}, r"`new` should have shape \(n, 4\)"),
        ({"new": np.full((3, 4), np.inf)}, "`new` should be finite"),
        ({"labels": ["ka"]}, "class of each of 3 items"),
        ({"labels": ["x", "y", "z"]}, "none of which it has"),
        ({"components": "max"}, "`components` should be one of mean, sum"),
    ],
)
def test_what_has_no_error_is_refused(weights, change, message):
    arguments = {
        "mapped": np.ones((3, 4)),
        "new": np.ones((3, 4)),
        "labels": list(NAMES),
        "classifier": Classifier("softmax", weights, NAMES),
        "components": "sum",
    }

    with pytest.raises(ValueError, match=message):
        alignment_error(**(arguments | change))
