import numpy as np
import pytest

from keras_bct.classifier import Classifier
from keras_bct.losses import (
    ArcFace,
    CosFace,
    NormSoftmax,
    Softmax,
    SphereFace,
    for_classifier,
)


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        ("softmax", Softmax),
        ("simplex", Softmax),
        ("normsoftmax", NormSoftmax),
        ("sphereface", SphereFace),
        ("cosface", CosFace),
        ("arcface", ArcFace),
    ],
)
def test_old_classifier_keeps_its_form_scale_and_margin(kind, loss):
    old = Classifier(kind, np.eye(3), ("a", "b", "c"), scale=30.0, margin=2.0)
    found = for_classifier(old)
    assert type(found) is loss
    if kind not in ("softmax", "simplex"):
        assert found.scale == 30.0
    if kind not in ("softmax", "simplex", "normsoftmax"):
        assert found.margin == 2.0


def test_missing_scale_is_named():
    old = Classifier("cosface", np.eye(2), ("a", "b"), margin=0.4)
    with pytest.raises(ValueError, match="needs `scale`"):
        for_classifier(old)
