"""Two replicas must end with the weights that one device ends with."""

import sys

import numpy as np
import pytest

from tests.keras_bct import two_devices

NETWORKS = ("without_batchnorm", "with_synchronised_batchnorm")
BATCH, STEPS = 16, 6


def network(name):
    import keras

    from keras_bct.models import glyph_network

    if name == "with_synchronised_batchnorm":
        return glyph_network(6, 4, image_shape=(8, 8, 1), seed=0)
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(
                6, kernel_initializer=keras.initializers.GlorotUniform(seed=0)
            ),
        ]
    )


def train(name, strategy):
    import keras
    import tensorflow as tf

    from keras_bct.classifier import Classifier
    from keras_bct.layers import CosineHead
    from keras_bct.losses import (
        Contrastive,
        CosFace,
        Distillation,
        Influence,
        for_classifier,
    )
    from keras_bct.models import compatible_model

    rng = np.random.default_rng(0)
    old = Classifier(
        "cosface", rng.normal(size=(4, 5)), tuple("abcd"), scale=10.0, margin=0.2
    )
    pictures = rng.uniform(0, 255, (BATCH * STEPS, 8, 8, 1)).astype("float32")
    labels = rng.integers(0, 9, BATCH * STEPS)
    # The first replica gets nearly all of the old classes, so that a mean over each
    # replica's own unmasked samples would be far from the mean over all of them.
    half = np.arange(BATCH * STEPS) % BATCH < BATCH // 2
    labels = np.where(half, labels % 5, 3 + labels % 6)
    old_labels = np.where(labels < 4, labels, -1)
    targets = {
        "new": labels,
        "old": old_labels,
        "distillation": np.where(labels < 4, -1, labels),
        "embeddings": labels,
    }
    old_embeddings = rng.normal(size=(BATCH * STEPS, 5)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices(
        ({"image": pictures, "old_embedding": old_embeddings}, targets)
    ).batch(BATCH, drop_remainder=True)
    with strategy.scope():
        model = compatible_model(
            network(name),
            CosineHead(9, seed=1),
            old,
            terms=("distillation", "embeddings"),
        )
        of_old = for_classifier(old)
        model.compile(
            keras.optimizers.SGD(0.01, momentum=0.9),
            loss={
                "new": CosFace(scale=10.0, margin=0.2),
                "old": Influence(of_old),
                "distillation": Distillation(of_old, temperature=2.0),
                "embeddings": Contrastive(temperature=0.5),
            },
            loss_weights={
                "new": 1.0,
                "old": 2.0,
                "distillation": 1.0,
                "embeddings": 1.0,
            },
        )
    shares = model.fit(data, epochs=2, verbose=0).history["old_share"]
    weights = model.get_weights()
    without = data.map(lambda x, y: (x, {**y, "old": tf.fill([BATCH], -1)}))
    try:
        model.fit(without, verbose=0)
        refused = False
    except ValueError as error:
        refused = "Some sample should have an old label" in str(error)
    return [*weights, shares, refused]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return two_devices.trained(__file__, tmp_path_factory.mktemp("mirrored"))


@pytest.mark.parametrize("name", NETWORKS)
def test_two_devices_end_with_the_weights_of_one(trained, name):
    two_devices.assert_two_end_as_one(trained, name)


@pytest.mark.parametrize("name", NETWORKS)
def test_two_devices_count_old_labels_together_and_miss_them_together(trained, name):
    *_, shares, refused = [trained[key] for key in trained if f"{name}/two" in key]
    position = np.arange(BATCH * STEPS)
    # The labels of `train`, by hand.
    numbers = np.random.default_rng(0)
    numbers.normal(size=(4, 5))
    numbers.uniform(0, 255, (BATCH * STEPS, 8, 8, 1))
    drawn = numbers.integers(0, 9, BATCH * STEPS)
    labels = np.where(position % BATCH < BATCH // 2, drawn % 5, 3 + drawn % 6)
    np.testing.assert_allclose(shares, 2 * [np.mean(labels < 4)], rtol=1e-6)
    assert refused


if __name__ == "__main__":
    two_devices.save(sys.argv[1], NETWORKS, train)
