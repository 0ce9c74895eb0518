"""A predecessor of tensorflow-addons and tensorflow-similarity, and its successor.

The predecessor is trained and saved under TensorFlow 2.15 in an environment of its own,
kept in out/legacy-environment; the first run installs it. It comes without a
classifier: the successor trains against the class means of its embeddings.
"""

import hashlib
import os
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import uv

from keras_bct import data, layers, losses, models
from keras_bct.classifier import Classifier
from keras_bct.data import glyphs, write_records
from keras_bct.data.glyph_records import to_records, write_directory
from registry import GateRefusedError, Registry

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MAKER = Path(__file__).with_name("legacy_predecessor") / "make.py"
REQUIREMENTS = MAKER.with_name("requirements.txt")

OLD_CLASSES = 100
COMPONENTS = 64
STEPS = 500


def run_uv(*arguments):
    return subprocess.run(
        [uv.find_uv_bin(), *arguments, "--no-python-downloads", "--no-config"],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def legacy_python():
    """The interpreter of an environment with the pins of TensorFlow 2.15."""
    for version in ("3.11", "3.10"):
        if (found := run_uv("python", "find", "--system", version)).returncode == 0:
            break
    else:
        pytest.skip("TensorFlow 2.15 needs Python 3.10 or 3.11, and there is neither")
    base = found.stdout.strip()
    pins = hashlib.sha256(REQUIREMENTS.read_bytes() + base.encode()).hexdigest()
    folder = ROOT / "out" / "legacy-environment" / pins[:16]
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        made = run_uv("venv", "--clear", "--python", base, str(folder))
        assert made.returncode == 0, made.stderr
        installed = run_uv(
            "pip", "install", "--python", str(python), "-r", str(REQUIREMENTS)
        )
        if "Failed to fetch" in installed.stderr:
            pytest.skip("the packages of TensorFlow 2.15 are not reached from here")
        assert installed.returncode == 0, installed.stderr
        complete.touch()
    return python


@pytest.fixture(scope="module")
def old_pictures():
    kanji = glyphs.load().split("train")
    old = kanji.select(characters=kanji.characters[:OLD_CLASSES])
    return old.images.reshape(-1, 32, 32, 1)


@pytest.fixture(scope="module")
def legacy(legacy_python, old_pictures, tmp_path_factory):
    """The folder that the maker leaves."""
    folder = tmp_path_factory.mktemp("legacy")
    labels = np.repeat(np.arange(OLD_CLASSES), len(old_pictures) // OLD_CLASSES)
    np.savez(folder / "pictures.npz", images=old_pictures, labels=labels)
    # TF_USE_LEGACY_KERAS is what TFX, imported by another test, leaves behind.
    hidden = (
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "TF_USE_LEGACY_KERAS",
        "VIRTUAL_ENV",
    )
    made = subprocess.run(
        [legacy_python, MAKER, folder / "pictures.npz", folder],
        env={k: v for k, v in os.environ.items() if k not in hidden},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def predecessor(legacy):
    return str(legacy / "predecessor")


def test_it_was_saved_with_its_optimizer_and_without_a_classifier(predecessor):
    names = [
        name
        for name, _ in tf.train.list_variables(f"{predecessor}/variables/variables")
    ]
    assert any(name.startswith("optimizer/") for name in names)
    with pytest.raises(FileNotFoundError):
        Classifier.load(os.path.join(predecessor, "assets.extra"))


def test_its_embeddings_here_stand_for_those_it_gave_there(
    predecessor, legacy, old_pictures
):
    there = np.load(legacy / "embeddings.npy")
    here = models.load_embedder(predecessor).embed(old_pictures)
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-6)

    # A search finds the same neighbours, or others as near within 1e-5.
    def similarities(rows):
        similar = rows.astype(float) @ rows.T.astype(float)
        np.fill_diagonal(similar, -np.inf)
        return similar

    found = similarities(here).argmax(axis=1)[:, None]
    nearest = similarities(there)
    chosen = np.take_along_axis(nearest, found, axis=1)[:, 0]
    np.testing.assert_allclose(chosen, nearest.max(axis=1), rtol=0, atol=1e-5)


def test_it_runs_frozen_in_the_training_of_another(predecessor, old_pictures):
    layer = models.FrozenEmbedder(predecessor)
    pictures = tf.constant(old_pictures[:8], tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(pictures)
        embeddings = layer(pictures)
    assert embeddings.shape == (8, COMPONENTS)
    assert layer.trainable_weights == []
    assert tape.gradient(embeddings, pictures) is None


@pytest.fixture(scope="module")
def successor(predecessor, tmp_path_factory):
    """A version of 600 classes, trained against the means of the old embeddings."""
    folder = tmp_path_factory.mktemp("successor")
    pictures = str(folder / "train.tfrecord")
    records = to_records(glyphs.load().split("train"))
    write_records(pictures, records)
    stored = models.load_embedder(predecessor).embed_bytes(records.images, records.ids)
    # Metric learning leaves its classes wide: a margin around their means asks for
    # more than the old space can give.
    old = Classifier.from_embeddings(
        stored, records.labels, kind="normsoftmax", scale=16.0, margin=None
    )
    backbone = models.glyph_network(COMPONENTS, width=12, seed=2)
    head = layers.CosineHead(len(old.class_names), seed=2)
    loss = losses.CosFace(scale=24, margin=0.2)
    model = models.compatible_model(backbone, head, old)
    model.compile(
        keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, STEPS)),
        loss={"new": loss, "old": losses.Influence(losses.for_classifier(old))},
        loss_weights={"new": 1.0, "old": 4.0},
        jit_compile=False,
    )
    batches = data.training_dataset(
        pictures,
        class_names=old.class_names,
        old_class_names=old.class_names,
        image_shape=(32, 32, 1),
        batch_size=128,
        seed=2,
    )
    model.fit(batches, steps_per_epoch=STEPS, verbose=0)
    models.export_version(
        folder / "version",
        backbone,
        head.to_classifier(loss, old.class_names),
        training={"steps": STEPS},
    )
    return folder / "version"


def test_its_successor_passes_the_gate_and_is_promoted(
    predecessor, successor, tmp_path
):
    write_directory(tmp_path / "kanji", glyphs.load())
    protocol = tmp_path / "kanji" / "kanji-validation.yaml"
    registry = Registry.init(tmp_path / "registry")
    first = registry.register("kanji", predecessor, distance="cosine")
    assert (first.name, first.embedding_size) == ("kanji/1", COMPONENTS)
    registry.promote(
        "kanji/1", "production", require_compatible=True, protocol=protocol
    )
    registry.register("kanji", successor, predecessor="kanji/1")
    with pytest.raises(GateRefusedError):
        registry.promote("kanji/2", "production", require_compatible=True)

    evidence = registry.evaluate("kanji/2", "kanji/1", protocol)
    assert evidence.answer == "yes", evidence.reasons
    registry.promote("kanji/2", "production", require_compatible=True)
    assert registry.resolve("kanji@production").name == "kanji/2"
    registry.database.close()
