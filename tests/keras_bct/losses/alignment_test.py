import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.losses import (
    Alignment,
    ArcFace,
    CosFace,
    FastFill,
    FeatureAlignment,
    NormSoftmax,
    Softmax,
)

SAMPLES, SIZE, CLASSES = 6, 4, 5
LABELS = np.array([0, 1, 2, 3, 4, -1])


def batch(variances=None, seed=0):
    rng = np.random.default_rng(seed)
    truth = {"embedding": rng.normal(size=(SAMPLES, SIZE)), "label": LABELS}
    aligned = {
        "embedding": rng.normal(size=(SAMPLES, SIZE)),
        "classes": rng.uniform(-0.9, 0.9, (SAMPLES, CLASSES)),
    }
    if variances:
        aligned["log_variance"] = rng.normal(size=(SAMPLES, variances))
    return truth, aligned


def logits(name, cosines, labels):
    """Scale 10 and margin 0.3, by the definitions of docs/methods.md, section 2."""
    if name == "softmax":
        return cosines
    target = np.arange(CLASSES) == labels[:, None]
    moved = {
        "normsoftmax": cosines,
        "cosface": cosines - 0.3,
        "arcface": np.cos(np.arccos(cosines) + 0.3),
    }[name]
    return 10.0 * np.where(target, moved, cosines)


DISCRIMINATIVE = {
    "softmax": Softmax(label_smoothing=0.1),
    "normsoftmax": NormSoftmax(scale=10.0),
    "cosface": CosFace(scale=10.0, margin=0.3),
    "arcface": ArcFace(scale=10.0, margin=0.3),
}


def discriminative(name, classes, labels=LABELS):
    """Cross entropy in float64, 0 without a class; Softmax smooths by 0.1."""
    rows = logits(name, classes, labels)
    log_shares = rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))
    target = np.eye(CLASSES)[np.maximum(labels, 0)]
    if name == "softmax":
        target = 0.9 * target + 0.1 / CLASSES
    return np.where(labels < 0, 0.0, -(target * log_shares).sum(axis=1))


def features(components, truth, aligned, weights=1.0):
    squares = weights * (aligned["embedding"] - truth["embedding"]) ** 2
    return squares.sum(axis=1) if components == "sum" else squares.mean(axis=1)


def fastfill(components, name, truth, aligned, weight):
    """Equation 5 in float64, with one variance or one a component."""
    log_variance = aligned["log_variance"]
    overall = log_variance.mean(axis=1)
    error = features(components, truth, aligned, np.exp(-log_variance))
    error = error + np.exp(-overall) * discriminative(name, aligned["classes"])
    return 0.5 * error + weight * overall


def values_and_gradients(loss, truth, aligned):
    outputs = {
        key: tf.constant(value.astype(np.float32)) for key, value in aligned.items()
    }
    truth = {
        "embedding": tf.constant(truth["embedding"].astype(np.float32)),
        "label": tf.constant(truth["label"]),
    }
    with tf.GradientTape() as tape:
        tape.watch(list(outputs.values()))
        values = loss.call(truth, outputs)
        total = tf.reduce_sum(values)
    gradients = tape.gradient(total, outputs)
    return values.numpy(), {key: found.numpy() for key, found in gradients.items()}


class TestFeatureAlignment:
    def test_sum_and_mean_by_hand(self):
        new, aligned = np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 2.0]])
        np.testing.assert_allclose(
            FeatureAlignment("sum").call(new, aligned), [25.0, 4.0]
        )
        np.testing.assert_allclose(
            FeatureAlignment("mean").call(new, aligned), [12.5, 2.0]
        )

    def test_trains_a_plain_model_as_fct(self):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model.compile(keras.optimizers.SGD(0.1), loss=FeatureAlignment("sum"))
        old = np.random.default_rng(0).normal(size=(64, 3))
        history = model.fit(old, old[:, :2], epochs=40, verbose=0).history["loss"]
        assert history[-1] < 0.01 * history[0]

    def test_another_reduction_is_refused(self):
        with pytest.raises(ValueError, match=r"`components` should be.*'max'"):
            FeatureAlignment("max")


@pytest.mark.parametrize("name", DISCRIMINATIVE)
@pytest.mark.parametrize("components", ["sum", "mean"])
def test_alignment_is_the_sum_of_both_terms(name, components):
    truth, aligned = batch()
    loss = Alignment(
        FeatureAlignment(components), DISCRIMINATIVE[name], discriminative_weight=2.0
    )
    wanted = features(components, truth, aligned)
    wanted = wanted + 2.0 * discriminative(name, aligned["classes"])
    found, _ = values_and_gradients(loss, truth, aligned)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("name", DISCRIMINATIVE)
@pytest.mark.parametrize("components", ["sum", "mean"])
@pytest.mark.parametrize("variances", [1, SIZE])
def test_fastfill_values_and_gradients_in_float64(
    name, components, variances, numeric_gradient
):
    truth, aligned = batch(variances)
    loss = FastFill(
        Alignment(FeatureAlignment(components), DISCRIMINATIVE[name]),
        log_variance_weight=0.7,
    )
    found, gradients = values_and_gradients(loss, truth, aligned)
    np.testing.assert_allclose(
        found, fastfill(components, name, truth, aligned, 0.7), rtol=1e-5
    )
    for key, gradient in gradients.items():

        def total(point, key=key):
            changed = {**aligned, key: point}
            return fastfill(components, name, truth, changed, 0.7).sum()

        np.testing.assert_allclose(
            gradient, numeric_gradient(total, aligned[key]), atol=2e-4
        )


@pytest.mark.parametrize(("components", "weight"), [("sum", SIZE / 2), ("mean", 0.5)])
def test_lambda_is_that_of_a_gaussian_unless_told(components, weight):
    truth, aligned = batch(1)
    loss = FastFill(Alignment(FeatureAlignment(components), Softmax()))
    told = FastFill(loss.alignment, log_variance_weight=weight)
    np.testing.assert_array_equal(loss.call(truth, aligned), told.call(truth, aligned))


def test_features_alone_are_the_gaussian_likelihood():
    # -log N(new; aligned, sigma^2 I) without its constant, in the paper's reduction
    truth, aligned = batch(1)
    loss = FastFill(Alignment(FeatureAlignment("sum")))
    log_variance = aligned["log_variance"][:, 0]
    error = ((aligned["embedding"] - truth["embedding"]) ** 2).sum(axis=1)
    wanted = 0.5 * (error / np.exp(log_variance) + SIZE * log_variance)
    np.testing.assert_allclose(loss.call(truth, aligned), wanted, rtol=1e-6)


def test_best_variance_is_the_error_itself():
    # The derivative by log sigma^2 is zero at sigma^2 = L / (2 lambda).
    truth, aligned = batch()
    loss = FastFill(
        Alignment(FeatureAlignment("mean"), Softmax()), log_variance_weight=0.5
    )
    error = loss.alignment.call(truth, aligned)
    aligned["log_variance"] = np.log(error)[:, None]
    _, gradients = values_and_gradients(loss, truth, aligned)
    np.testing.assert_allclose(gradients["log_variance"], 0, atol=1e-6)


def test_without_a_class_only_the_distance_counts():
    truth, aligned = batch()
    _, gradients = values_and_gradients(
        Alignment(FeatureAlignment("mean"), CosFace(scale=10.0, margin=0.3)),
        truth,
        aligned,
    )
    assert not gradients["classes"][-1].any()
    assert gradients["classes"][:-1].any(axis=1).all()
    assert gradients["embedding"][-1].any()


def test_without_features_only_the_classifier_counts():
    truth, aligned = batch()
    loss = Alignment(None, Softmax())
    np.testing.assert_allclose(
        loss.call(truth, aligned),
        Alignment(FeatureAlignment("sum"), Softmax()).terms(truth, aligned)[
            "discriminative"
        ],
    )


@pytest.mark.parametrize(
    "loss",
    [
        FeatureAlignment("sum", reduction="sum"),
        Alignment(FeatureAlignment("mean"), ArcFace(scale=9.0, margin=0.2)),
        Alignment(None, Softmax(label_smoothing=0.1), discriminative_weight=3.0),
        FastFill(Alignment(FeatureAlignment("sum")), log_variance_weight=2.0),
        FastFill(Alignment(FeatureAlignment("mean"), NormSoftmax(scale=4.0))),
    ],
)
def test_comes_back_from_its_config(loss):
    config = keras.saving.serialize_keras_object(loss)
    again = keras.saving.deserialize_keras_object(config)
    assert type(again) is type(loss)
    assert keras.saving.serialize_keras_object(again) == config


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Alignment(None), ValueError, "`features` and `discriminative`"),
        (lambda: Alignment("mean"), TypeError, "`features` should be.*'mean'"),
        (
            lambda: Alignment(None, keras.losses.MeanSquaredError()),
            TypeError,
            "`discriminative` should be the loss of the new model's classifier",
        ),
        (
            lambda: Alignment(None, Softmax(), discriminative_weight=-1),
            ValueError,
            "`discriminative_weight`.*-1",
        ),
        (lambda: FastFill(FeatureAlignment("sum")), TypeError, "`alignment` should"),
        (
            lambda: FastFill(Alignment(None, Softmax()), log_variance_weight=0),
            ValueError,
            "`log_variance_weight`.*0",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_variances_for_neither_the_whole_nor_the_components_are_refused():
    truth, aligned = batch(2)
    with pytest.raises(ValueError, match=r"`log_variance`.*each of the.*4.*2"):
        FastFill(Alignment(FeatureAlignment("sum"))).call(truth, aligned)
