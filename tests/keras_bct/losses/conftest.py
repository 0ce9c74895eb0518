"""What the loss tests compare with: float64, formula by formula, no TensorFlow."""

import numpy as np
import pytest


@pytest.fixture
def cross_entropy():
    """Cross entropy of logits (n, classes) at labels (n,), by its definition."""

    def compute(logits, labels):
        logits = np.asarray(logits, np.float64)
        highest = logits.max(axis=1, keepdims=True)
        total = np.log(np.exp(logits - highest).sum(axis=1)) + highest[:, 0]
        return total - logits[np.arange(len(labels)), labels]

    return compute


@pytest.fixture
def numeric_gradient():
    """The gradient of a scalar function by central differences in float64."""

    def compute(function, point, step=1e-6):
        point = np.array(point, np.float64)
        gradient = np.empty_like(point)
        for index in np.ndindex(point.shape):
            ahead, behind = point.copy(), point.copy()
            ahead[index] += step
            behind[index] -= step
            gradient[index] = (function(ahead) - function(behind)) / (2 * step)
        return gradient

    return compute


@pytest.fixture
def value_and_gradient():
    """What a loss gives on a batch: values per sample, gradient of their sum."""
    import tensorflow as tf

    def compute(loss, labels, outputs):
        outputs = tf.constant(np.asarray(outputs, np.float32))
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            values = loss.call(tf.constant(labels), outputs)
            total = tf.reduce_sum(values)
        return values.numpy(), tape.gradient(total, outputs).numpy()

    return compute


@pytest.fixture
def cosines():
    """Cosines (6, 5) and labels (6,): angles of the target from near 0 to near pi."""
    values = np.random.default_rng(0).uniform(-0.9, 0.9, (6, 5))
    labels = np.array([0, 1, 2, 3, 4, 0])
    values[np.arange(6), labels] = [0.99, 0.45, 0.1, -0.4, -0.8, -0.99]
    return values, labels
