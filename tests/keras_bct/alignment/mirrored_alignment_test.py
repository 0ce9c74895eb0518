"""Two replicas must end with the weights that one device ends with.

TensorFlow divides the CPU into logical devices only before it starts, so the training
runs in a process of its own: python mirrored_alignment_test.py RESULT.npz
"""

import os
import subprocess
import sys

import numpy as np
import pytest

RECIPES = {
    "published": {"hidden_size": 8, "warm_up_epochs": 1},
    "residual": {
        "hidden_size": 8,
        "base": "ridge",
        "components": "sum",
        "held_out_classes": 0.2,
        "uncertainty": "components",
        "unit_length": True,
        "warm_up_epochs": 0,
    },
}


def train(options, strategy):
    from keras_bct.alignment import AlignmentRecipe, fit_alignment
    from keras_bct.classifier import Classifier

    rng = np.random.default_rng(0)
    old = rng.normal(size=(80, 4)).astype("float32")
    classifier = Classifier(
        "cosface", rng.normal(size=(4, 6)), tuple("abcd"), scale=8.0, margin=0.2
    )
    recipe = AlignmentRecipe(epochs=4, batch_size=16, weight_decay=1e-2, **options)
    with strategy.scope():
        model = fit_alignment(
            recipe,
            old,
            np.tanh(old @ rng.normal(size=(4, 6))),
            # Class e has no row in the classifier, and counts in L_l2 alone.
            labels=["abcde"[row % 5] for row in range(80)],
            classifier=classifier,
        )
    return model.get_weights()


def main(path):
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * 2
    )
    mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert mirrored.num_replicas_in_sync == 2
    results = {}
    for name, options in RECIPES.items():
        for where, strategy in (
            ("one", tf.distribute.get_strategy()),
            ("two", mirrored),
        ):
            for index, weight in enumerate(train(options, strategy)):
                results[f"{name}/{where}/{index:02}"] = weight
    np.savez(path, **results)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("mirrored") / "weights.npz"
    subprocess.run(
        [sys.executable, __file__, str(path)],
        check=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with np.load(path) as results:
        return dict(results)


@pytest.mark.parametrize("name", RECIPES)
def test_two_devices_end_with_the_weights_of_one(trained, name):
    keys = [key for key in trained if key.startswith(f"{name}/one/")]
    assert keys
    for key in keys:
        two = trained[key.replace("/one/", "/two/")]
        np.testing.assert_allclose(two, trained[key], atol=1e-5, err_msg=key)


if __name__ == "__main__":
    main(sys.argv[1])
