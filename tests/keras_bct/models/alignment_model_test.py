import keras
import numpy as np
import pytest

from keras_bct.classifier import Classifier
from keras_bct.layers import AlignmentMap, FrozenClassifier, UncertaintyHead
from keras_bct.losses import Alignment, FastFill, FeatureAlignment, for_classifier
from keras_bct.models.alignment_model import AlignmentModel

OLD, SIDE, NEW, CLASSES = 4, 3, 6, 5
KINDS = {
    "softmax": {},
    "normsoftmax": {"scale": 8.0},
    "cosface": {"scale": 8.0, "margin": 0.2},
    "arcface": {"scale": 8.0, "margin": 0.2},
}


def classifier(kind="cosface"):
    rows = np.random.default_rng(9).normal(size=(CLASSES, NEW))
    return Classifier(kind, rows, tuple("abcde"), **KINDS[kind])


def data(count=64, side=False):
    rng = np.random.default_rng(0)
    inputs = {"old_embedding": rng.normal(size=(count, OLD)).astype(np.float32)}
    if side:
        inputs["side_information"] = rng.normal(size=(count, SIDE)).astype(np.float32)
    new = np.tanh(inputs["old_embedding"] @ rng.normal(size=(OLD, NEW)))
    return inputs, {
        "embedding": new.astype(np.float32),
        "label": rng.integers(0, CLASSES, count),
    }


def model(kind="cosface", variances=1, components="mean", **options):
    head = None if variances is None else UncertaintyHead(variances)
    made = AlignmentModel(
        AlignmentMap(NEW, hidden_size=16, seed=0, **options),
        head,
        FrozenClassifier(classifier(kind)),
    )
    loss = Alignment(FeatureAlignment(components), for_classifier(classifier(kind)))
    made.compile(
        keras.optimizers.Adam(5e-3),
        loss=loss if variances is None else FastFill(loss),
        jit_compile=False,
    )
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "variances"),
    [("softmax", None), ("normsoftmax", 1), ("cosface", NEW), ("arcface", 1)],
)
def test_fit_lowers_the_loss_on_stored_embeddings(kind, variances):
    made = model(kind, variances)
    history = made.fit(*data(), batch_size=16, epochs=12, verbose=0).history["loss"]
    assert history[-1] < history[0]


@pytest.mark.slow
def test_what_it_reports_is_the_compiled_loss():
    made = model()
    inputs, truth = data()
    made.fit(inputs, truth, batch_size=16, verbose=0)
    found = made.evaluate(inputs, truth, batch_size=64, verbose=0)
    assert found == pytest.approx(float(made.loss(truth, made(inputs))), rel=1e-5)


def test_regularisers_are_added_once():
    made = model(kernel_regularizer=keras.regularizers.L2(0.5))
    inputs, truth = data()
    made(inputs)
    wanted = float(made.loss(truth, made(inputs))) + float(np.sum(made.losses))
    found = made.evaluate(inputs, truth, batch_size=64, verbose=0)
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
def test_the_new_classifier_stays_as_it_was():
    made = model()
    made.fit(*data(), batch_size=16, epochs=2, verbose=0)
    np.testing.assert_array_equal(
        made.classifier.classifier.weights, classifier().weights
    )


@pytest.mark.slow
def test_the_uncertainty_reads_the_aligned_embedding():
    made = model()
    inputs, _ = data()
    made.fit(*data(), batch_size=16, verbose=0)
    outputs = made(inputs)
    kernel, bias = made.uncertainty.get_weights()
    np.testing.assert_allclose(
        outputs["log_variance"],
        np.asarray(outputs["embedding"]) @ kernel + bias,
        atol=1e-5,
    )


@pytest.mark.slow
@pytest.mark.parametrize("side", [False, True])
def test_transform_gives_what_the_model_gives(side):
    made = model()
    inputs, truth = data(count=20, side=side)
    made.fit(inputs, truth, batch_size=10, verbose=0)
    embeddings, log_variance = made.transform(
        inputs["old_embedding"], inputs.get("side_information"), batch_size=7
    )
    outputs = made(inputs)
    np.testing.assert_allclose(embeddings, outputs["embedding"], atol=1e-6)
    np.testing.assert_allclose(log_variance, outputs["log_variance"], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("side", [False, True])
def test_transform_of_no_rows_gives_none_of_the_right_size(side):
    made = model()
    inputs, truth = data(count=20, side=side)
    made.fit(inputs, truth, batch_size=10, verbose=0)
    none = {name: rows[:0] for name, rows in inputs.items()}
    embeddings, log_variance = made.transform(
        none["old_embedding"], none.get("side_information")
    )
    assert (embeddings.shape, log_variance.shape) == ((0, NEW), (0, 1))


@pytest.mark.slow
def test_side_information_is_asked_for_and_refused_as_in_training():
    """Also where it has the size of the old embedding and could be taken for it."""
    rows = np.random.default_rng(1).normal(size=(8, OLD)).astype(np.float32)
    for trained_with in ({}, {"side_information": rows}):
        made = model()
        truth = {"embedding": np.ones((8, NEW), "float32"), "label": np.zeros(8, int)}
        made.fit({"old_embedding": rows, **trained_with}, truth, verbose=0)
        other = None if trained_with else rows
        with pytest.raises(ValueError, match="`side_information` should"):
            made.transform(rows, other)
        given = {"old_embedding": rows} | (
            {} if trained_with else {"side_information": rows}
        )
        with pytest.raises(ValueError, match="`inputs` should be old_embedding"):
            made(given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "error_type", "message"),
    [
        ({"old": np.ones((3, OLD + 1), "float32")}, ValueError, r"`old`.*\(n, 4\)"),
        ({"old": np.ones(OLD, "float32")}, ValueError, r"`old`.*\(n, 4\).*\(4,\)"),
        ({"old": np.ones((3, OLD), int)}, TypeError, "`old`.*floating"),
        ({"old": np.full((3, OLD), np.nan)}, ValueError, "`old`.*finite.*row 0"),
        ({"old": np.full((3, OLD), 1e39)}, ValueError, "`old`.*within float32.*row 0"),
        ({"batch_size": 0}, ValueError, "`batch_size` should be at least 1.*0"),
    ],
)
def test_rows_that_do_not_fit_are_refused(changes, error_type, message):
    made = model()
    made.fit(*data(count=10), verbose=0)
    arguments = {"old": data(count=3)[0]["old_embedding"], **changes}
    with pytest.raises(error_type, match=message):
        made.transform(**arguments)


def test_without_uncertainty_there_is_no_variance():
    made = model(variances=None)
    inputs, _ = data(count=4)
    assert made.transform(inputs["old_embedding"])[1] is None


@pytest.mark.slow
@pytest.mark.parametrize("side", [False, True])
def test_trains_on_from_a_keras_file_as_if_never_saved(side, tmp_path):
    made = model(kernel_regularizer=keras.regularizers.L2(0.01))
    inputs, truth = data(side=side)
    made.fit(inputs, truth, batch_size=16, verbose=0)
    made.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    for each in (made, again):
        each.fit(inputs, truth, batch_size=16, epochs=2, shuffle=False, verbose=0)
    for weight, wanted in zip(again.get_weights(), made.get_weights(), strict=True):
        np.testing.assert_allclose(weight, wanted, atol=1e-6)


@pytest.mark.parametrize("size", [NEW - 1, NEW + 1, OLD])
def test_a_classifier_of_another_model_is_not_called_the_old_one_of_a_training(size):
    rows = np.random.default_rng(9).normal(size=(CLASSES, size))
    other = Classifier("softmax", rows, tuple("abcde"))
    made = AlignmentModel(
        AlignmentMap(NEW, hidden_size=8), classifier=FrozenClassifier(other)
    )
    message = rf"new model's.*{NEW} components.*Received: one of {size}"
    with pytest.raises(ValueError, match=message):
        made(data(count=2)[0])
