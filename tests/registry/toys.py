"""Toy models that are linear maps, and toy pictures: real, and made in a moment."""

import json

import numpy as np
import pytest

SIGNAL = 4
"""Columns of a toy picture that tell its class; the other four are noise."""


def toy_pictures(seed, classes=30, cameras=3, noise=25.0):
    """Pictures 8 x 8 whose left half is the class's and whose right half is not."""
    import io

    from PIL import Image

    from keras_bct.data import ImageRecords

    patterns = np.random.default_rng(7).uniform(40, 215, (classes, 8, SIGNAL))
    rng = np.random.default_rng(seed)
    ids, images, labels, names = [], [], [], []
    for number in range(classes):
        for camera in range(cameras):
            pixels = rng.uniform(0, 255, (8, 8))
            pixels[:, :SIGNAL] = patterns[number] + noise * rng.normal(size=(8, SIGNAL))
            stream = io.BytesIO()
            Image.fromarray(pixels.clip(0, 255).astype("uint8")).save(stream, "PNG")
            ids.append(f"{seed}-{number}-{camera}")
            images.append(stream.getvalue())
            labels.append(f"class-{number}")
            names.append(f"camera-{camera}")
    return ImageRecords(np.array(ids), images, np.array(labels), np.array(names))


def toy_matrix(name, size):
    """(64, size) linear maps; `new` agrees with `old`, but lets no noise in.

    `turned` is `new` at 16 components in other coordinates, as a model that was trained
    freely.
    """
    signal = np.random.default_rng(1).normal(size=(64, 32))[:, :size]
    other = np.random.default_rng(2).normal(size=(64, 32))[:, :size]
    tells = (np.arange(64) % 8 < SIGNAL)[:, None]
    if name == "turned":
        turn = np.linalg.qr(np.random.default_rng(3).normal(size=(size, 16)))[0].T
        return (toy_matrix("new", 16) @ turn).astype(np.float32)
    return {
        "old": np.where(tells, signal, 0.4 * signal),
        "new": np.where(tells, signal, 0),
        "independent": np.where(tells, other, 0),
        "broken": np.full((64, size), np.inf),
    }[name].astype(np.float32)


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory):
    """Real SavedModels of linear embeddings, made once for all tests."""
    import tensorflow as tf

    made = {}

    def make(name, size=16):
        if (name, size) in made:
            return made[name, size]
        module = tf.Module()
        module.matrix = tf.Variable(toy_matrix(name, size))

        @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 1], tf.float32)])
        def embed(image):
            flat = tf.reshape(image / 255.0 - 0.5, [-1, 64])
            return {"embedding": flat @ module.matrix}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def embed_bytes(image_bytes):
            def decode(picture):
                pixels = tf.io.decode_png(picture, channels=1)
                return tf.ensure_shape(tf.cast(pixels, tf.float32), [8, 8, 1])

            return embed(
                tf.map_fn(
                    decode,
                    image_bytes,
                    fn_output_signature=tf.TensorSpec([8, 8, 1], tf.float32),
                )
            )

        module.embed, module.embed_bytes = embed, embed_bytes
        folder = tmp_path_factory.mktemp(f"{name}-{size}") / "model"
        tf.saved_model.save(
            module,
            str(folder),
            signatures={"embed": embed, "embed_bytes": embed_bytes},
        )
        (folder / "assets.extra").mkdir()
        (folder / "assets.extra" / "version.json").write_text(
            json.dumps({"schema": 1, "embedding_size": size, "distance": "cosine"})
        )
        made[name, size] = folder
        return folder

    return make


def write_toy_protocol(folder):
    """A protocol on toy pictures, with TFRecords beside it."""
    from keras_bct.data import write_records

    write_records(folder / "toy-queries.tfrecord", toy_pictures(1))
    write_records(folder / "toy-gallery.tfrecord", toy_pictures(2))
    path = folder / "toy.yaml"
    path.write_text(
        "name: toy\n"
        "queries: {source: tfrecord, path: toy-queries*.tfrecord, camera: camera}\n"
        "gallery: {source: tfrecord, path: toy-gallery*.tfrecord, camera: camera}\n"
        "metrics: [retrieval/mAP]\n"
        "bootstrap: {replicates: 500}\n"
    )
    return path


@pytest.fixture
def toy_protocol(tmp_path):
    """A protocol on toy pictures, with TFRecords beside it."""
    return write_toy_protocol(tmp_path)


@pytest.fixture
def pictures():
    """Makes toy pictures by seed; seeds 1 and 2 are those of the protocol."""
    return toy_pictures


@pytest.fixture
def toy_embeddings():
    """Embeddings of toy pictures by the formula, without a SavedModel."""
    import io

    from PIL import Image

    def embed(name, records, size=16):
        pixels = [np.asarray(Image.open(io.BytesIO(i)), float) for i in records.images]
        flat = np.stack(pixels).reshape(-1, 64) / 255 - 0.5
        return flat @ toy_matrix(name, size).astype(float)

    return embed


@pytest.fixture
def toy_adapter(tmp_path, toy_model, toy_embeddings):
    """Fits an adapter between toy models to pairs of the named pictures' embeddings."""
    from keras_bct.adapters import Ridge
    from registry.fingerprint import fingerprint

    def make(name, records, old="old", new="turned", size=16, method=None):
        fitted = (method or Ridge()).fit(
            toy_embeddings(old, records).astype(np.float32),
            toy_embeddings(new, records, size).astype(np.float32),
            old_fingerprint=fingerprint(toy_model(old)),
            new_fingerprint=fingerprint(toy_model(new, size)),
        )
        fitted.save(tmp_path / "adapters" / name)
        return tmp_path / "adapters" / name

    return make


def mean_average_precision(queries, query_labels, gallery, gallery_labels):
    """By scikit-learn, one query at a time, cosine."""
    from sklearn.metrics import average_precision_score

    def unit(vectors):
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    scores = unit(queries) @ unit(gallery).T
    return np.mean(
        [
            average_precision_score(gallery_labels == label, row)
            for label, row in zip(query_labels, scores, strict=True)
        ]
    )
