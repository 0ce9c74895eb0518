"""Two old classifiers in one fit, from TFRecords to the weights after a step."""

import io

import keras
import numpy as np
from PIL import Image

from keras_bct.classifier import Classifier
from keras_bct.data import ImageRecords, training_dataset, write_records
from keras_bct.layers import CosineHead
from keras_bct.losses import CosFace, Influence, for_classifier
from keras_bct.models import compatible_model

ROWS = np.random.default_rng(11)


def unit(vectors):
    vectors = np.asarray(vectors, float)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cross_entropy(logits, labels, margin):
    """Sum over the samples that have a label, by the size of the batch."""
    total = 0.0
    for row, label in zip(np.array(logits), labels, strict=True):
        if label >= 0:
            row[label] -= margin
            total += np.log(np.exp(row).sum()) - row[label]
    return total / len(labels)


def write_grey_pictures(path, labels):
    pixels = np.random.default_rng(3).integers(0, 256, (len(labels), 2, 2), np.uint8)
    images = []
    for picture in pixels:
        stream = io.BytesIO()
        Image.fromarray(picture).save(stream, "PNG")
        images.append(stream.getvalue())
    ids = np.array([f"id-{number}" for number in range(len(labels))])
    write_records(path, ImageRecords(ids, images, np.array(labels)))


def test_two_old_classifiers_train_in_one_fit(tmp_path):
    # The first step of SGD against float64: the losses by their formulas, the
    # gradient of their weighted sum by central differences.
    labels = ["a", "b", "c", "d", "e", "f", "a", "c"]
    write_grey_pictures(tmp_path / "grey.tfrecord", labels)
    olds = {
        "old": Classifier(
            "cosface", ROWS.normal(size=(3, 2)), ("a", "b", "c"), scale=8.0, margin=0.2
        ),
        "older": Classifier(
            "softmax", ROWS.normal(size=(2, 3)), ("c", "d"), ROWS.normal(size=2)
        ),
    }
    batches = training_dataset(
        tmp_path / "grey.tfrecord",
        class_names=tuple("abcdef"),
        old_class_names={name: old.class_names for name, old in olds.items()},
        image_shape=(2, 2, 1),
        batch_size=8,
        seed=0,
        augmentation=None,
    )
    network = keras.Sequential(
        [
            keras.Input((2, 2, 1)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(
                3, kernel_initializer=keras.initializers.RandomNormal(seed=7)
            ),
        ]
    )
    head = CosineHead(6, seed=0)
    model = compatible_model(network, head, olds)
    kernel, rows = network.get_weights()[0].astype(float), head.weights_by_class()
    weights = {"new": 1.0, "old": 2.0, "older": 0.5}
    model.compile(
        keras.optimizers.SGD(0.1),
        loss={
            "new": CosFace(scale=8.0, margin=0.3),
            "old": Influence(for_classifier(olds["old"])),
            "older": Influence(for_classifier(olds["older"])),
        },
        loss_weights=weights,
        jit_compile=False,
    )
    images, targets = next(batches.as_numpy_iterator())
    pixels = images.reshape(8, 4).astype(float) / 255
    history = model.fit(batches, steps_per_epoch=1, verbose=0).history

    def losses(kernel):
        embeddings = pixels @ kernel
        logits = 8 * unit(embeddings) @ unit(rows).T
        known = 8 * unit(embeddings[:, :2]) @ unit(olds["old"].weights).T
        older = embeddings @ olds["older"].weights.T + olds["older"].bias
        return {
            "new": cross_entropy(logits, targets["new"], 8 * 0.3),
            "old": cross_entropy(known, targets["old"], 8 * 0.2),
            "older": cross_entropy(older, targets["older"], 0.0),
        }

    def total(kernel):
        return sum(weights[name] * value for name, value in losses(kernel).items())

    wanted = losses(kernel)
    assert {*targets["old"]} == {-1, 0, 1, 2}
    assert {*targets["older"]} == {-1, 0, 1}
    for name, value in wanted.items():
        np.testing.assert_allclose(history[f"{name}_loss"], [value], rtol=1e-5)
    np.testing.assert_allclose(history["loss"], [total(kernel)], rtol=1e-5)
    gradient = np.zeros_like(kernel)
    for index in np.ndindex(kernel.shape):
        step = np.zeros_like(kernel)
        step[index] = 1e-6
        gradient[index] = (total(kernel + step) - total(kernel - step)) / 2e-6
    np.testing.assert_allclose(
        network.get_weights()[0], kernel - 0.1 * gradient, atol=1e-5
    )
