import keras
import pytest

from keras_bct.losses import Alignment, CosFace, FeatureAlignment
from keras_bct.losses.classifier_loss import ClassifierLoss, MarginLoss
from keras_bct.losses.old_new_loss import OldNewLoss
from keras_bct.losses.per_sample_loss import PerSampleLoss


@pytest.mark.parametrize(
    ("base", "method"),
    [
        (PerSampleLoss, "call"),
        (ClassifierLoss, "plain_logits"),
        (MarginLoss, "target"),
        (OldNewLoss, "values"),
    ],
)
def test_a_loss_that_does_not_say_its_formula_is_refused_when_it_is_made(base, method):
    with pytest.raises(TypeError, match=method):
        type("Unfinished", (base,), {})()


def test_every_loss_is_computed_in_float32_unless_told_otherwise():
    assert FeatureAlignment("sum").dtype == "float32"
    assert FeatureAlignment("sum", dtype="float64").dtype == "float64"


def test_a_loss_that_an_earlier_release_saved_is_made_again():
    """The configuration is what stood in its file, key by key."""
    inner = {
        "name": "cos_face",
        "reduction": "sum_over_batch_size",
        "label_smoothing": 0.1,
        "dtype": "float32",
        "scale": 16.0,
        "margin": 0.2,
    }
    saved = {
        "module": "keras_bct.losses.alignment",
        "class_name": "Alignment",
        "config": {
            "name": "mine",
            "reduction": "sum",
            "features": None,
            "discriminative": {
                "module": "keras_bct.losses.cosface",
                "class_name": "CosFace",
                "config": inner,
                "registered_name": "keras_bct>CosFace",
            },
            "discriminative_weight": 0.5,
            "dtype": "float64",
        },
        "registered_name": "keras_bct>Alignment",
    }

    loss = keras.saving.deserialize_keras_object(saved)

    assert isinstance(loss, Alignment)
    assert (loss.name, loss.reduction, loss.dtype) == ("mine", "sum", "float64")
    assert (loss.features, loss.discriminative_weight) == (None, 0.5)
    assert isinstance(loss.discriminative, CosFace)
    assert loss.discriminative.get_config() == inner
    assert keras.saving.serialize_keras_object(loss)["config"] == saved["config"]
