"""A saved model comes back with one import, `import keras_bct`."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import keras_bct
from keras_bct.saved_classes import CLASSES, announce_to_keras

_ROOM = Path(keras_bct.__file__).parent
_SAVED = re.compile(
    r'^@keras\.saving\.register_keras_serializable\(package="keras_bct"\)\nclass (\w+)',
    re.MULTILINE,
)


def test_every_class_that_keras_saves_is_found_in_its_module():
    found = {
        name: ".".join(file.relative_to(_ROOM).with_suffix("").parts)
        for file in _ROOM.rglob("*.py")
        for name in _SAVED.findall(file.read_text(encoding="utf-8"))
    }
    assert found == CLASSES


def saved_model(folder):
    import keras

    from keras_bct.classifier import Classifier
    from keras_bct.layers import CosineHead
    from keras_bct.losses import CosFace, Influence, for_classifier
    from keras_bct.models import compatible_model

    old = Classifier("cosface", np.eye(4), tuple("abcd"), scale=8.0, margin=0.1)
    backbone = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4)])
    model = compatible_model(backbone, CosineHead(5, seed=0), old)
    losses = {
        "new": CosFace(scale=8.0, margin=0.1),
        "old": Influence(for_classifier(old)),
    }
    model.compile("adam", loss=losses, jit_compile=False)
    rows = np.random.default_rng(0).normal(size=(3, 6)).astype("float32")
    outputs = {name: np.asarray(value) for name, value in model(rows).items()}
    model.save(folder / "model.keras")
    np.savez(folder / "expected.npz", rows=rows, **outputs)
    return folder / "model.keras", rows, outputs


def test_a_saved_model_is_made_again_with_its_losses(tmp_path, monkeypatch):
    import keras

    path, rows, outputs = saved_model(tmp_path)
    # Keras's table as it is before any of our modules is imported.
    table = keras.saving.get_custom_objects()
    for name in CLASSES:
        monkeypatch.setitem(table, f"keras_bct>{name}", None)
        del table[f"keras_bct>{name}"]
    with pytest.raises((TypeError, ValueError), match="CompatibleModel"):
        keras.models.load_model(path)
    announce_to_keras()
    again = keras.models.load_model(path)
    for name, value in again(rows).items():
        np.testing.assert_allclose(value, outputs[name], atol=1e-6)
    assert again.loss["old"].loss.margin == 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import keras, keras_bct",
        "import keras_bct, keras",
        "import keras_bct.evaluation",
    ],
)
def test_one_import_is_enough_in_a_new_process(imports, tmp_path):
    saved_model(tmp_path)
    script = f"""{imports}
import numpy as np
import tensorflow, keras
model = keras.models.load_model("model.keras")
expected = np.load("expected.npz")
for name, value in model(expected["rows"]).items():
    np.testing.assert_allclose(value, expected[name], atol=1e-6)
"""
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": str(_ROOM.parent)},
    )
