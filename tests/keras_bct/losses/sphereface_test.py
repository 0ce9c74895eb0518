"""The original SphereFace, whose scale is the embedding's own length."""

import math

import numpy as np
import tensorflow as tf

from keras_bct.classifier import Classifier
from keras_bct.layers import CosineHead, FrozenClassifier
from keras_bct.losses import SphereFace, for_classifier

ROWS = np.random.default_rng(0).normal(size=(3, 4))
EMBEDDINGS = np.random.default_rng(1).normal(size=(5, 4))
LABELS = np.array([0, 1, 2, 0, 1])


def original_logits():
    lengths = np.linalg.norm(EMBEDDINGS, axis=1)
    cosines = EMBEDDINGS @ ROWS.T / lengths[:, None] / np.linalg.norm(ROWS, axis=1)
    logits = lengths[:, None] * cosines
    for sample, label in enumerate(LABELS):
        theta = math.acos(cosines[sample, label])
        piece = int(theta * 4 / math.pi)
        psi = (-1) ** piece * math.cos(4 * theta) - 2 * piece
        logits[sample, label] = lengths[sample] * psi
    return logits


def test_head_with_length_and_loss_without_scale(cross_entropy):
    head = CosineHead(3, with_length=True)
    head.build((None, 4))
    head.kernel.assign(ROWS)
    outputs = head(tf.constant(EMBEDDINGS, tf.float32))
    assert outputs.shape == (5, 4)
    assert head.compute_output_shape((5, 4)) == (5, 4)
    values = SphereFace(scale=None, margin=4).call(LABELS, outputs)
    np.testing.assert_allclose(
        values, cross_entropy(original_logits(), LABELS), rtol=1e-4
    )


def test_old_classifier_of_the_original_form_keeps_it(cross_entropy):
    old = Classifier("sphereface", ROWS, ("a", "b", "c"), margin=4)
    outputs = FrozenClassifier(old)(tf.constant(EMBEDDINGS, tf.float32))
    loss = for_classifier(old)
    assert loss.scale is None
    np.testing.assert_allclose(
        loss.call(LABELS, outputs), cross_entropy(original_logits(), LABELS), rtol=1e-4
    )
    np.testing.assert_allclose(
        loss.plain_logits(outputs),
        EMBEDDINGS @ ROWS.T / np.linalg.norm(ROWS, axis=1),
        rtol=1e-4,
        atol=1e-6,
    )


def test_label_of_the_length_column_is_outside_the_head():
    outputs = np.ones((1, 4), "float32")
    with np.testing.assert_raises_regex(ValueError, "label < 3"):
        SphereFace(scale=None, margin=4)(np.array([3]), outputs)


def test_comes_back_from_its_config():
    loss = SphereFace(scale=None, margin=4)
    assert SphereFace.from_config(loss.get_config()).scale is None
