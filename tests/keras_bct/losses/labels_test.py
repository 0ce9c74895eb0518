"""What labels mean to every loss that takes them, expected in float64 by NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct import losses

CLASSES = 4000
LABELS = np.array([3999, 2049, 0])


def normsoftmax_by_hand(cosines, labels, scale):
    logits = scale * cosines.astype(np.float64)
    total = np.log(np.exp(logits).sum(axis=1))
    return np.mean(total - logits[np.arange(len(labels)), labels])


@pytest.fixture
def cosine_rows():
    cosines = np.random.default_rng(0).uniform(-1, 1, (3, CLASSES))
    cosines[np.arange(3), LABELS] = 1.0
    # What float16 takes for 3999 and 2049.
    cosines[0, :] = np.where(np.arange(CLASSES) == 3999, 1.0, cosines[0] - 1)
    return cosines.astype(np.float16)


@pytest.mark.parametrize("given", ["int32", "int64", "uint16", "float32", "float64"])
@pytest.mark.parametrize("computed", ["float16", "float32"])
def test_a_label_is_its_own_row_whatever_the_loss_computes_in(
    given, computed, cosine_rows
):
    loss = losses.NormSoftmax(scale=8, dtype=computed)
    wanted = normsoftmax_by_hand(cosine_rows, LABELS, 8)
    value = float(loss(LABELS.astype(given), cosine_rows))
    np.testing.assert_allclose(
        value, wanted, rtol=5e-3 if computed == "float16" else 1e-4
    )


def test_influence_looks_up_the_old_row_that_was_named(cosine_rows):
    loss = losses.Influence(losses.NormSoftmax(scale=8), dtype="float16")
    labels = np.where(LABELS == 0, -1, LABELS)
    wanted = normsoftmax_by_hand(cosine_rows[:2], LABELS[:2], 8) * 2 / 3
    np.testing.assert_allclose(float(loss(labels, cosine_rows)), wanted, rtol=5e-3)


@pytest.mark.parametrize("first", [2**24, 2**31, 2**40])
def test_neighbouring_large_labels_are_two_classes(first):
    vectors = np.stack([np.eye(2), np.eye(2)], axis=1)
    loss = losses.Contrastive(temperature=1.0)
    value = float(loss(np.array([first, first + 1]), vectors))
    # Each q lies on its own old embedding and at right angles to two negatives.
    np.testing.assert_allclose(value, np.log(1 + 2 * np.exp(-1)), rtol=1e-6)


def test_the_alignment_losses_look_up_the_new_row_that_was_named(cosine_rows):
    alignment = losses.Alignment(None, losses.NormSoftmax(scale=8), dtype="float16")
    truth = {"embedding": np.zeros((3, 2)), "label": LABELS}
    aligned = {
        "embedding": np.zeros((3, 2)),
        "classes": cosine_rows,
        "log_variance": np.zeros((3, 1)),
    }
    wanted = normsoftmax_by_hand(cosine_rows, LABELS, 8)
    np.testing.assert_allclose(float(alignment(truth, aligned)), wanted, rtol=5e-3)
    fastfill = losses.FastFill(alignment, dtype="float16")
    # Half of it, at sigma^2 = 1.
    np.testing.assert_allclose(float(fastfill(truth, aligned)), wanted / 2, rtol=5e-3)


EVERY_LOSS = {
    "classifier": (losses.CosFace(scale=8, margin=0.1), np.zeros((2, 3))),
    "influence": (losses.Influence(losses.Softmax()), np.zeros((2, 3))),
    "l2": (losses.L2(), np.zeros((2, 2, 3))),
    "distillation": (losses.Distillation(losses.Softmax()), np.zeros((2, 2, 3))),
    "contrastive": (losses.Contrastive(), np.ones((2, 2, 3))),
}
every_loss = pytest.mark.parametrize(
    ("loss", "outputs"), EVERY_LOSS.values(), ids=EVERY_LOSS
)


@every_loss
@pytest.mark.parametrize("label", [0.9, np.nan, np.inf, -np.inf, 2.0**24])
def test_what_is_no_whole_number_is_no_label(loss, outputs, label):
    labels = np.array([1, label], np.float32)
    with pytest.raises(ValueError, match=r"row numbers.*for sample 1"):
        loss(labels, outputs)
    with pytest.raises(tf.errors.InvalidArgumentError, match="row numbers"):
        tf.function(loss)(labels, outputs.astype("float32"))


@every_loss
def test_one_hot_labels_are_told_to_become_row_numbers(loss, outputs):
    with pytest.raises(ValueError, match=r"row numbers.*\(2, 3\).*argmax"):
        loss(np.eye(2, 3), outputs)


@every_loss
def test_class_names_are_told_to_become_row_numbers(loss, outputs):
    with pytest.raises(TypeError, match=r"Classifier.labels"):
        loss(np.array(["ka", "ki"]), outputs)


@pytest.mark.parametrize("name", ["l2", "distillation", "influence"])
def test_no_label_but_minus_one_leaves_a_sample_out(name):
    loss, outputs = EVERY_LOSS[name]
    with pytest.raises(ValueError, match=r"-1.*Received: -2 for sample 1"):
        loss(np.array([1, -2]), outputs)


@pytest.mark.parametrize("given", ["uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_fit_looks_up_the_row_that_was_named(given, policy):
    """As `compile` and `fit` hand labels over, mixed precision included."""
    rows = np.random.default_rng(1).normal(size=(6, 300)).astype("float32")
    labels = np.array([0, 1, 2, 254, 255, 129])
    if given != "uint8":
        labels += 40
    head = keras.layers.Activation("linear", dtype=policy)
    model = keras.Sequential([keras.Input((300,)), head])
    model.compile(loss=losses.Softmax(), jit_compile=False)
    value = model.evaluate(rows, labels.astype(given), verbose=0)
    np.testing.assert_allclose(
        value,
        normsoftmax_by_hand(rows, labels, 1),
        rtol=2e-2 if policy == "mixed_bfloat16" else 1e-5,
    )


def test_half_of_a_weighted_batch_counts_half():
    loss = losses.Softmax()
    value = loss(np.array([0, 1]), np.zeros((2, 3)), sample_weight=np.array([1.0, 0.0]))
    np.testing.assert_allclose(float(value), np.log(3) / 2, rtol=1e-6)
