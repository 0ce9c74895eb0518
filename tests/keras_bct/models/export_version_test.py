import io
import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_bct.classifier import Classifier
from keras_bct.models import export_version, glyph_network

NAMES = ("ka", "ki", "ku")


def classifier(size=4):
    return Classifier("cosface", np.eye(3, size), NAMES, scale=24.0, margin=0.3)


def backbone(channels=1):
    return glyph_network(4, 2, image_shape=(16, 12, channels), seed=0)


def encoded(pixels, picture_format="PNG", **options):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, picture_format, **options)
    return stream.getvalue()


def example(image):
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[image]))
    label = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"ka"]))
    features = tf.train.Features(feature={"image": feature, "label": label})
    return tf.train.Example(features=features).SerializeToString()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    network = backbone()
    directory = tmp_path_factory.mktemp("glyphs") / "1"
    export_version(directory, network, classifier(), training={"steps": 3})
    return network, directory


@pytest.fixture(scope="module")
def pictures():
    return np.random.default_rng(0).integers(0, 256, (5, 16, 12), dtype=np.uint8)


def test_every_signature_gives_the_raw_embedding(exported, pictures):
    network, directory = exported
    wanted = network.predict(pictures[..., None].astype("float32"), verbose=0)
    loaded = tf.saved_model.load(str(directory))
    png = [encoded(picture) for picture in pictures]
    given = {
        "embed": loaded.signatures["embed"](
            image=tf.constant(pictures[..., None], tf.float32)
        ),
        "embed_bytes": loaded.signatures["embed_bytes"](image_bytes=tf.constant(png)),
        "serving_default": loaded.signatures["serving_default"](
            examples=tf.constant([example(image) for image in png])
        ),
    }
    for name, outputs in given.items():
        assert list(outputs) == ["embedding"], name
        assert outputs["embedding"].dtype == tf.float32
        np.testing.assert_allclose(outputs["embedding"], wanted, atol=1e-4)


def test_jpeg_is_read_as_pillow_reads_it(exported):
    network, directory = exported
    smooth = np.tile(np.linspace(0, 255, 12).astype(np.uint8), (16, 1))
    jpeg = encoded(smooth, "JPEG", quality=95)
    pixels = np.asarray(Image.open(io.BytesIO(jpeg)), np.float32)[None, ..., None]
    loaded = tf.saved_model.load(str(directory))
    given = loaded.signatures["embed_bytes"](image_bytes=tf.constant([jpeg]))
    np.testing.assert_allclose(
        given["embedding"], network.predict(pixels, verbose=0), rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize("batch", [1, 7])
def test_batches_of_any_size(exported, batch):
    _, directory = exported
    png = [encoded(np.zeros((16, 12), np.uint8))] * batch
    embed = tf.saved_model.load(str(directory)).signatures["embed_bytes"]
    given = embed(image_bytes=tf.constant(png, tf.string, shape=[batch]))
    assert given["embedding"].shape == (batch, 4)


def test_picture_of_another_size_is_refused_not_resized(exported):
    _, directory = exported
    embed = tf.saved_model.load(str(directory)).signatures["embed_bytes"]
    upright = encoded(np.zeros((12, 16), np.uint8))
    with pytest.raises(tf.errors.InvalidArgumentError, match="height 16 and width 12"):
        embed(image_bytes=tf.constant([upright]))


def test_grey_pictures_suit_a_colour_model(tmp_path, pictures):
    network = backbone(channels=3)
    export_version(tmp_path / "1", network, classifier(), training={})
    embed = tf.saved_model.load(str(tmp_path / "1")).signatures["embed_bytes"]
    given = embed(image_bytes=tf.constant([encoded(picture) for picture in pictures]))
    colour = np.repeat(pictures[..., None], 3, axis=3).astype("float32")
    np.testing.assert_allclose(
        given["embedding"], network.predict(colour, verbose=0), atol=1e-4
    )


def test_what_stands_beside_the_model(exported):
    _, directory = exported
    extra = directory / "assets.extra"
    assert json.loads((extra / "version.json").read_text()) == {
        "schema": 1,
        "embedding_size": 4,
        "distance": "cosine",
        "image_shape": [16, 12, 1],
        "training": {"steps": 3},
    }
    assert Classifier.load(extra).class_names == NAMES


def test_saved_model_appears_last(tmp_path, monkeypatch):
    arrived = []
    rename, copy = tf.io.gfile.rename, tf.io.gfile.copy

    def remember(function):
        def call(source, target, **options):
            function(source, target, **options)
            arrived.append(os.path.relpath(target, tmp_path / "1"))

        return call

    monkeypatch.setattr(tf.io.gfile, "rename", remember(rename))
    monkeypatch.setattr(tf.io.gfile, "copy", remember(copy))
    export_version(tmp_path / "1", backbone(), classifier(), training={})
    assert arrived[-1] == "saved_model.pb"
    assert arrived.count("saved_model.pb") == 1
    assert {"assets.extra/version.json", "variables/variables.index"} <= set(arrived)
    assert not (tmp_path / "1" / "saved_model.pb.arriving").exists()


def test_directory_that_exists_but_is_empty_is_taken(tmp_path):
    export_version(tmp_path, backbone(), classifier(), training={})
    assert (tmp_path / "saved_model.pb").is_file()


def test_version_that_exists_is_left_alone(exported):
    _, directory = exported
    before = (directory / "saved_model.pb").read_bytes()
    with pytest.raises(FileExistsError, match="new version number"):
        export_version(directory, backbone(), classifier(), training={})
    assert (directory / "saved_model.pb").read_bytes() == before


def test_mixed_precision_model_gives_float32(tmp_path):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        network = backbone()
    finally:
        keras.config.set_dtype_policy("float32")
    export_version(tmp_path / "1", network, classifier(), training={})
    embed = tf.saved_model.load(str(tmp_path / "1")).signatures["embed"]
    given = embed(image=tf.zeros((1, 16, 12, 1)))["embedding"]
    assert given.dtype == tf.float32


def diverged():
    network = backbone()
    network.layers[-1].bias.assign([0.0, np.nan, 0.0, 0.0])
    return network


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: (backbone(), classifier(size=5), {}),
            "5 components and a backbone of 4",
        ),
        (
            lambda: (backbone(), classifier(), {"distance": "angle"}),
            "`distance` should",
        ),
        (lambda: (diverged(), classifier(), {}), "finite weights.*embedding/bias"),
        (
            lambda: (
                keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)]),
                classifier(),
                {},
            ),
            "`backbone` should take pictures",
        ),
        (
            lambda: (
                keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Dense(4)]),
                classifier(),
                {},
            ),
            r"embeddings of shape \(batch, d\)",
        ),
    ],
)
def test_refused_before_anything_is_written(tmp_path, make, message):
    network, old, options = make()
    with pytest.raises(ValueError, match=message):
        export_version(tmp_path / "1", network, old, training={}, **options)
    assert not (tmp_path / "1").exists()
