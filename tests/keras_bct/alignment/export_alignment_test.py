import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bct.adapters import OldToNew, load_adapter
from keras_bct.alignment import export_alignment
from keras_bct.classifier import Classifier
from keras_bct.layers import (
    AlignmentMap,
    FrozenClassifier,
    ResidualAlignment,
    UncertaintyHead,
)
from keras_bct.models.alignment_model import AlignmentModel

OLD, SIDE, NEW = 4, 3, 6
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(50, OLD)).astype(np.float32)
EXTRA = RNG.normal(size=(50, SIDE)).astype(np.float32)
NAMES = {"old_fingerprint": "faces/1", "new_fingerprint": "faces/2"}


def model(side=False, variances=1, residual=False, unit_length=False):
    layer = AlignmentMap(NEW, hidden_size=8, seed=0)
    if residual:
        layer = ResidualAlignment(np.ones((OLD + SIDE * side, NEW)), np.zeros(NEW))
    made = AlignmentModel(
        layer,
        None if variances is None else UncertaintyHead(variances),
        FrozenClassifier(Classifier("softmax", np.ones((2, NEW)), ("a", "b"))),
        unit_length=unit_length,
    )
    inputs = {"old_embedding": ROWS}
    if side:
        inputs["side_information"] = EXTRA
    made(inputs)
    if variances is not None:
        made.uncertainty.set_weights(
            [RNG.normal(size=(NEW, variances)), RNG.normal(size=variances)]
        )
    return made


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("residual", [False, True])
def test_loads_as_an_adapter_that_gives_the_same(side, residual, tmp_path):
    made = model(side, residual=residual, unit_length=residual)
    export_alignment(tmp_path / "adapter", made, pairs=9, **NAMES)
    adapter = load_adapter(tmp_path / "adapter")
    extra = EXTRA if side else None
    embeddings, log_variance = made.transform(ROWS, extra)
    found = adapter.transform_with_variance(
        ROWS, fingerprint="faces/1", side_information=extra
    )
    np.testing.assert_allclose(found[0], embeddings, atol=1e-5)
    np.testing.assert_allclose(found[1], log_variance[:, 0], atol=1e-5)
    assert type(adapter) is OldToNew
    assert adapter.side_size == (SIDE if side else None)


def test_signature_takes_and_gives_by_name(tmp_path):
    export_alignment(tmp_path, model(side=True), pairs=9, **NAMES)
    loaded = tf.saved_model.load(str(tmp_path))
    found = loaded.signatures["transform"](old_embedding=ROWS, side_information=EXTRA)
    assert {name: tuple(value.shape) for name, value in found.items()} == {
        "embedding": (50, NEW),
        "log_variance": (50, 1),
    }


def test_variances_of_the_components_are_summed_by_the_adapter(tmp_path):
    made = model(variances=NEW)
    adapter = export_alignment(tmp_path, made, pairs=9, **NAMES)
    _, log_variance = made.transform(ROWS)
    np.testing.assert_allclose(
        adapter.log_variance(ROWS), np.log(np.exp(log_variance).sum(axis=1)), atol=1e-5
    )


def test_without_uncertainty_the_adapter_has_none(tmp_path):
    adapter = export_alignment(tmp_path, model(variances=None), pairs=9, **NAMES)
    assert not adapter.has_variance
    assert adapter.log_variance(ROWS) is None


def test_description_says_what_trained_it(tmp_path):
    export_alignment(
        tmp_path, model(), pairs=9, method="FCT", settings={"epochs": 80}, **NAMES
    )
    description = json.loads((tmp_path / "adapter.json").read_text("utf-8"))
    assert description["method"] == "FCT"
    assert description["settings"] == {"epochs": 80}
    assert description["pairs"] == 9


def test_model_that_diverged_is_refused(tmp_path):
    made = model()
    made.uncertainty.set_weights([np.full((NEW, 1), np.nan), np.zeros(1)])
    with pytest.raises(ValueError, match=r"finite weights.*the training diverged"):
        export_alignment(tmp_path, made, pairs=9, **NAMES)
    assert not (tmp_path / "adapter.json").exists()


def test_model_without_weights_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`model` should be trained"):
        export_alignment(tmp_path, AlignmentModel(AlignmentMap(3)), pairs=9, **NAMES)
