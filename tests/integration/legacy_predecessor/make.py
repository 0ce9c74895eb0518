"""Trains and saves a model as it was done under TensorFlow 2.15, and what it gives.

    python make.py PICTURES.npz DIRECTORY

PICTURES.npz holds `images`, uint8 (n, 32, 32, 1), and `labels`, int (n,). Writes
DIRECTORY/predecessor, a SavedModel of `model.save` with its optimizer inside, and
DIRECTORY/embeddings.npy, what the model itself gives for the pictures, float32 (n, d).

Runs in an environment of its own (requirements.txt beside it), with Keras 2: neither
tensorflow-addons nor tensorflow-similarity can be imported beside Keras 3.
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa
import tensorflow_similarity as tfsim

COMPONENTS = 64
STEPS = 40


def network() -> tfsim.models.SimilarityModel:
    """Pixels in 0..255 to unit vectors; an image op of the addons is part of it."""
    layers = tf.keras.layers
    pictures = tf.keras.Input((32, 32, 1), name="image")
    x = layers.Rescaling(1 / 127.5, offset=-1.0)(pictures)
    x = layers.Lambda(lambda image: tfa.image.gaussian_filter2d(image, 3, 0.5))(x)
    for width in (12, 24, 48):
        x = layers.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation(tfa.activations.gelu)(x)
    x = layers.Flatten()(x)
    embeddings = tfsim.layers.MetricEmbedding(COMPONENTS)(x)
    return tfsim.models.SimilarityModel(pictures, embeddings)


def augmented(images, labels, examples_per_class, is_warmup):
    """Turns each picture by up to six degrees."""
    angles = tf.random.uniform([tf.shape(images)[0]], -0.1, 0.1)
    return tfa.image.rotate(tf.cast(images, tf.float32), angles), labels


def main(pictures: str, directory: str) -> None:
    """Trains, saves, and writes the embeddings of all pictures."""
    tf.keras.utils.set_random_seed(1)
    stored = np.load(pictures)
    images, labels = stored["images"].astype("float32"), stored["labels"]
    batches = tfsim.samplers.MultiShotMemorySampler(
        images,
        labels,
        classes_per_batch=32,
        examples_per_class_per_batch=4,
        steps_per_epoch=STEPS,
        augmenter=augmented,
    )
    model = network()
    model.compile(
        optimizer=tfa.optimizers.AdamW(weight_decay=1e-4, learning_rate=3e-3),
        loss=tfsim.losses.MultiSimilarityLoss(),
    )
    model.fit(batches, epochs=1, verbose=2)
    model.save(f"{directory}/predecessor", save_index=False)
    np.save(f"{directory}/embeddings.npy", model.predict(images, verbose=0))


if __name__ == "__main__":
    main(*map(str, map(Path, sys.argv[1:])))
