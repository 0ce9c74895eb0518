"""What is registered embeds pictures, by the parts that are kept with it."""

import numpy as np
import pytest

from keras_bct.embedding_parts import PARTS_FILE, EmbeddingParts
from registry import InvalidModelError, measure_evidence
from registry.fingerprint import fingerprint


@pytest.fixture(scope="module")
def two_heads(tmp_path_factory):
    """A foreign model: 16 features, and 4 probabilities that it serves by default."""
    import tensorflow as tf

    from tests.registry.toys import toy_matrix

    folder = tmp_path_factory.mktemp("foreign") / "model"
    pictures = tf.TensorSpec([None, 8, 8, 1], tf.float32, name="pixels")
    module = tf.Module()
    module.matrix = tf.Variable(toy_matrix("old", 16))

    @tf.function(input_signature=[pictures])
    def features(pixels):
        flat = tf.reshape(pixels / 255.0 - 0.5, [-1, 64])
        return {"features": flat @ module.matrix}

    @tf.function(input_signature=[pictures])
    def probabilities(pixels):
        return {"probs": tf.nn.softmax(features(pixels)["features"][:, :4])}

    module.features, module.probabilities = features, probabilities
    tf.saved_model.save(
        module,
        str(folder),
        signatures={"features": features, "serving_default": probabilities},
    )
    return folder


FEATURES = EmbeddingParts("features", "pixels", "features")


def test_named_parts_are_kept_and_followed(registry, two_heads, toy_protocol, pictures):
    taken = registry.register("toys", two_heads, distance="cosine")
    named = registry.register(
        "toys", two_heads, distance="cosine", signature="features"
    )
    assert (taken.embedding_size, named.embedding_size) == (4, 16)
    assert registry.version("toys/2").parts == named.parts == FEATURES
    assert registry.verify() == {"toys/1": [], "toys/2": []}

    registry.add_pictures("toys/all", pictures(2), named)
    assert registry.gallery("toys/all").read().embeddings.shape == (90, 16)
    evidence = registry.evaluate("toys/2", "toys/2", toy_protocol)
    assert evidence.first_components == 16


def test_another_part_of_the_same_files_is_another_version(registry, two_heads):
    taken = registry.register("toys", two_heads, distance="cosine")
    named = registry.register("faces", two_heads, distance="cosine", output="features")
    assert taken.fingerprint == fingerprint(two_heads)
    assert named.fingerprint != taken.fingerprint
    assert not (two_heads / PARTS_FILE).exists()


def test_the_parts_travel_with_the_folder(registry, two_heads, toy_protocol):
    version = registry.register("toys", two_heads, distance="cosine", output="features")
    with registry.local_version(version) as folder:
        assert EmbeddingParts.of(folder) == FEATURES
        evidence = measure_evidence(folder, folder, toy_protocol)
    assert evidence.new_fingerprint == version.fingerprint
    assert evidence.first_components == 16


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "saved_model.pb").write_bytes(b""),
        lambda folder: (folder / "saved_model.pb").write_bytes(b"\x89PNG\r\n" * 9),
        lambda folder: (folder / "saved_model.pb").write_bytes(
            (folder / "saved_model.pb").read_bytes()[:999]
        ),
        lambda folder: (folder / "variables" / "variables.index").unlink(),
    ],
    ids=["an empty file", "another file", "cut short", "no variables"],
)
def test_a_damaged_model_is_refused(registry, toy_model, tmp_path, damage):
    import shutil

    folder = shutil.copytree(toy_model("old"), tmp_path / "damaged")
    damage(folder)
    with pytest.raises(InvalidModelError, match="Export the model again"):
        registry.register("toys", folder)
    assert registry.versions() == []


def test_a_model_whose_embeddings_are_not_finite_is_refused(registry, toy_model):
    with pytest.raises(InvalidModelError, match="finite"):
        registry.register("toys", toy_model("broken"))


def test_a_size_that_the_model_does_not_have_is_refused(registry, toy_model):
    with pytest.raises(InvalidModelError, match="16 by what it gives"):
        registry.register("toys", toy_model("old"), embedding_size=8)


def test_a_name_that_is_not_there_is_refused(registry, toy_model):
    with pytest.raises(InvalidModelError, match=r"'logits'.*--output"):
        registry.register("toys", toy_model("old"), output="logits")
    assert np.size(registry.versions()) == 0
