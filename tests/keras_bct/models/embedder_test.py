import io
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_bct import progress
from keras_bct.classifier import Classifier
from keras_bct.models import export_version, glyph_network, load_embedder


def png(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(scope="module")
def pictures():
    return np.random.default_rng(0).integers(0, 256, (300, 16, 12), dtype=np.uint8)


@pytest.fixture(scope="module")
def network():
    return glyph_network(4, 2, image_shape=(16, 12, 1), seed=0)


@pytest.fixture(scope="module")
def version(tmp_path_factory, network):
    directory = tmp_path_factory.mktemp("glyphs") / "1"
    rows = Classifier("cosface", np.eye(2, 4), ("ka", "ki"), scale=24.0, margin=0.3)
    export_version(directory, network, rows, distance="l2", training={})
    return directory


def test_version_tells_what_it_is(version):
    loaded = load_embedder(version, expected_size=4)
    assert loaded.embedding_size == 4
    assert loaded.distance == "l2"
    assert loaded.image_shape == (16, 12, 1)


def test_pixels_and_bytes_give_the_networks_embeddings(version, network, pictures):
    loaded = load_embedder(version)
    pixels = pictures[..., None].astype("float32")
    wanted = network.predict(pixels, verbose=0)
    np.testing.assert_allclose(loaded.embed(pixels), wanted, atol=1e-4)
    np.testing.assert_allclose(loaded.embed(pictures[..., None]), wanted, atol=1e-4)
    by_bytes = loaded.embed_bytes(
        [png(p) for p in pictures], [str(i) for i in range(300)]
    )
    np.testing.assert_allclose(by_bytes, wanted, atol=1e-4)
    assert by_bytes.dtype == np.float32


def test_nothing_to_embed_gives_no_rows(version):
    loaded = load_embedder(version)
    assert loaded.embed_bytes([], []).shape == (0, 4)
    assert loaded.embed(np.zeros((0, 16, 12, 1))).shape == (0, 4)


def test_unreadable_bytes_are_named_by_id(version, pictures):
    images = [png(picture) for picture in pictures]
    images[257] = b"not a picture"
    images[299] = images[299][:40]
    ids = [f"kanji-{row}" for row in range(300)]
    with pytest.raises(ValueError, match=r"2 others.*kanji-257 .*kanji-299 "):
        load_embedder(version).embed_bytes(images, ids)


def test_picture_of_another_size_is_named_by_id(version, pictures):
    images = [png(pictures[0]), png(pictures[0].T)]
    with pytest.raises(ValueError, match=r"kanji-1 .*\(12, 16, 1\)"):
        load_embedder(version).embed_bytes(images, ["kanji-0", "kanji-1"])


@pytest.mark.parametrize("form", ["BMP", "GIF", "TIFF", "WEBP"])
def test_formats_that_training_refuses_are_named_by_id(version, pictures, form):
    stream = io.BytesIO()
    Image.fromarray(pictures[1]).save(stream, form)
    images = [png(pictures[0]), stream.getvalue()]
    with pytest.raises(ValueError, match=rf"kanji-1 \(.*: {form} in "):
        load_embedder(version).embed_bytes(images, ["kanji-0", "kanji-1"])


def test_sixteen_bits_are_embedded_as_training_sees_them(version, network, pictures):
    stream = io.BytesIO()
    # The lower eight bits would be rounded up.
    wide = pictures[0].astype(np.uint16) * 256 + 255
    Image.fromarray(wide).save(stream, "PNG")
    given = load_embedder(version).embed_bytes([stream.getvalue()], ["a"])
    wanted = network.predict(pictures[:1, ..., None].astype("float32"), verbose=0)
    np.testing.assert_allclose(given, wanted, atol=1e-4)


def test_ids_must_name_every_picture(version, pictures):
    with pytest.raises(ValueError, match="1 ids for 2 pictures"):
        load_embedder(version).embed_bytes([png(p) for p in pictures[:2]], ["kanji-0"])


def test_embedding_that_is_not_finite_is_refused(version):
    images = np.zeros((3, 16, 12, 1), "float32")
    images[1] = np.inf
    with pytest.raises(ValueError, match=r"NaN or infinity for the pictures \['1'\]"):
        load_embedder(version).embed(images)


@pytest.mark.parametrize("shape", [(2, 12, 16, 1), (2, 16, 12, 3), (16, 12, 1)])
def test_pixels_of_another_shape_are_refused(version, shape):
    with pytest.raises(ValueError, match="`images` should have shape"):
        load_embedder(version).embed(np.zeros(shape, "float32"))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_when_it_takes_long(version, monkeypatch):
    loaded = load_embedder(version)

    def shown(output):
        monkeypatch.setattr(sys, "stderr", output)
        loaded.embed(np.zeros((600, 16, 12, 1), "float32"))
        return output.getvalue()

    assert shown(Terminal()) == ""
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0)
    assert "embedding" in shown(Terminal())
    assert shown(io.StringIO()) == ""


class TestPredecessorsFromElsewhere:
    def test_plain_keras_export(self, tmp_path, network, pictures):
        network.export(tmp_path, verbose=False)
        loaded = load_embedder(tmp_path)
        pixels = pictures[:5, ..., None].astype("float32")
        wanted = network.predict(pixels, verbose=0)
        assert loaded.distance == "cosine"
        np.testing.assert_allclose(loaded.embed(pixels), wanted, atol=1e-4)
        by_bytes = loaded.embed_bytes([png(p) for p in pictures[:5]], list("abcde"))
        np.testing.assert_allclose(by_bytes, wanted, atol=1e-4)
        with pytest.raises(ValueError, match=r"b \(not a picture"):
            loaded.embed_bytes([png(pictures[0]), b"?"], ["a", "b"])

    def test_saved_model_with_an_optimizer_and_without_serve(self, tmp_path, pictures):
        module = Predecessor()
        module.step()
        tf.saved_model.save(
            module, str(tmp_path), signatures={"serving_default": module.forward}
        )
        loaded = load_embedder(tmp_path, expected_size=3)
        pixels = pictures[:2, ..., None].astype("float32")
        wanted = pixels.reshape(2, -1) @ module.kernel.numpy()
        np.testing.assert_allclose(loaded.embed(pixels), wanted, rtol=1e-4)

    def test_pictures_of_any_size(self, tmp_path, pictures):
        model = keras.Sequential(
            [keras.Input((None, None, 1)), keras.layers.GlobalAveragePooling2D()]
        )
        model.export(tmp_path, verbose=False)
        loaded = load_embedder(tmp_path)
        assert loaded.image_shape == (None, None, 1)
        given = loaded.embed_bytes([png(pictures[0])], ["a"])
        np.testing.assert_allclose(given, [[pictures[0].mean()]], rtol=1e-5)
        two = loaded.embed_bytes([png(pictures[0]), png(pictures[1, :3])], ["a", "b"])
        means = [[pictures[0].mean()], [pictures[1, :3].mean()]]
        np.testing.assert_allclose(two, means, rtol=1e-5)

    def test_output_is_named_where_there_are_several(self, tmp_path):
        pictures = keras.Input((8, 8, 1))
        flat = keras.layers.Flatten()(pictures)
        outputs = {
            "logits": keras.layers.Dense(7)(flat),
            "features": keras.layers.Dense(3)(flat),
        }
        keras.Model(pictures, outputs).export(tmp_path, verbose=False)
        with pytest.raises(ValueError, match=r"no one is the embedding.*`output`"):
            load_embedder(tmp_path)
        assert load_embedder(tmp_path, output="features").embedding_size == 3

    def test_model_that_gives_no_vector_is_refused(self, tmp_path):
        model = keras.Sequential(
            [keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, name="map")]
        )
        model.export(tmp_path, verbose=False)
        with pytest.raises(ValueError, match=r"gives an embedding, \(batch, d\)"):
            load_embedder(tmp_path)

    def test_model_that_takes_no_pictures_is_refused(self, tmp_path):
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        model.export(tmp_path, verbose=False)
        with pytest.raises(ValueError, match="not pictures"):
            load_embedder(tmp_path)

    def test_unknown_signature_is_refused(self, version):
        with pytest.raises(ValueError, match="no signature 'predict'"):
            load_embedder(version, signature="predict")


class Predecessor(tf.Module):
    """What `model.save` left behind in TensorFlow 2.15: weights, slots, no `serve`."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.kernel = tf.Variable(rng.normal(size=(192, 3)), dtype=tf.float32)
        self.optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)

    @tf.function(input_signature=[tf.TensorSpec([None, 16, 12, 1], name="input_1")])
    def forward(self, pictures):
        return {"dense": tf.reshape(pictures, [-1, 192]) @ self.kernel}

    def step(self):
        self.optimizer.build([self.kernel])
        self.optimizer.apply_gradients([(tf.ones_like(self.kernel), self.kernel)])


def test_another_embedding_size_than_expected_is_refused(version):
    with pytest.raises(ValueError, match="should have 64 components"):
        load_embedder(version, expected_size=64)


def test_directory_without_a_saved_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"saved_model\.pb directly inside"):
        load_embedder(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"distance": "near"}', '{"distance": null}']
)
def test_a_damaged_description_is_named(tmp_path, network, text):
    network.export(tmp_path, verbose=False)
    (tmp_path / "assets.extra").mkdir(exist_ok=True)
    (tmp_path / "assets.extra" / "version.json").write_text(text)
    with pytest.raises(ValueError, match=r"version\.json.*`distance`"):
        load_embedder(tmp_path)


def test_a_damaged_model_is_refused_in_plain_words(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"\x89PNG\r\n" * 9)
    with pytest.raises(ValueError, match=r"TensorFlow loads.*Export the model again"):
        load_embedder(tmp_path)
