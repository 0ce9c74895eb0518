"""Small stand-ins that need no TensorFlow: a SavedModel's bytes, evidence, data."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from keras_bct.evaluation import Comparison, MetricComparison
from registry import Evidence, MetricEvidence, Registry

PYTHONPATH = str(Path(__file__).parents[2])


def field(number, payload):
    """A length-delimited protocol buffer field of fewer than 16384 bytes."""
    size = len(payload)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + payload


def saved_model_bytes(size=64, output="embedding", dtype=1, note=b""):
    """saved_model.pb with one signature `embed`, (batch, size) float32."""
    any_size = b"\x08" + b"\xff" * 9 + b"\x01"
    shape = field(2, any_size) + field(2, bytes([8, size]))
    tensor = field(1, b"out:0") + bytes([16, dtype]) + field(3, shape)
    signature = field(2, field(1, output.encode()) + field(2, tensor))
    graph = field(2, note) + field(5, field(1, b"embed") + field(2, signature))
    return b"\x08\x01" + field(2, graph)


@pytest.fixture
def make_model(tmp_path):
    """Writes a SavedModel directory as `export_version` lays it out."""

    def make(name, *, size=64, distance="cosine", weights=None, training=None):
        folder = tmp_path / "exports" / name
        (folder / "variables").mkdir(parents=True)
        (folder / "assets.extra").mkdir()
        (folder / "saved_model.pb").write_bytes(saved_model_bytes(size))
        (folder / "variables" / "variables.data").write_bytes(
            name.encode() if weights is None else weights
        )
        version = {
            "schema": 1,
            "embedding_size": size,
            "distance": distance,
            "training": training or {"steps": 2000},
        }
        (folder / "assets.extra" / "version.json").write_text(json.dumps(version))
        return folder

    return make


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """A database that was migrated once; copying it is quicker than migrating."""
    root = tmp_path_factory.mktemp("empty")
    Registry.init(root).database.close()
    return root / "registry.db"


@pytest.fixture
def registry(tmp_path, empty_database):
    """An empty registry."""
    (tmp_path / "root").mkdir()
    shutil.copy(empty_database, tmp_path / "root")
    registry = Registry(tmp_path / "root")
    yield registry
    registry.database.close()


@pytest.fixture
def protocol(tmp_path):
    """A protocol file with data beside it; their content is only ever digested."""
    (tmp_path / "queries.tfrecord").write_bytes(b"queries")
    (tmp_path / "gallery.tfrecord").write_bytes(b"gallery")
    path = tmp_path / "kanji.yaml"
    path.write_text(
        "name: kanji\n"
        "queries: {source: tfrecord, path: queries.tfrecord}\n"
        "gallery: {source: tfrecord, path: gallery.tfrecord}\n"
        "metrics: [retrieval/mAP]\n"
    )
    return path


def comparison(difference, gain=None, spread=0.002):
    """A comparison whose 95 % interval is difference +- 1.96 spread, or nearly."""
    quantiles = (np.arange(2000) + 0.5) / 2000
    # Logistic quantiles; scaled so that the 2.5 % quantile is at -1.96 spread.
    noise = np.log(quantiles / (1 - quantiles)) * 1.96 / np.log(39) * spread
    metric = MetricComparison(
        old_old=0.8,
        new_old=0.8 + difference,
        new_new=0.9,
        paragon=None if gain is None else 0.9,
        gain=gain,
        gain_undefined="no paragon was named" if gain is None else "",
        difference_replicates=difference + noise,
        gain_replicates=None if gain is None else gain + noise,
        negative_flips=0.01,
        identities=200,
    )
    return Comparison(
        protocol="kanji",
        gate_metrics=("retrieval/mAP",),
        confidence=0.95,
        min_gain=None,
        metrics={"retrieval/mAP": metric},
        counts={"queries": 400, "gallery": 400},
        warnings=(),
    )


@pytest.fixture
def make_evidence(registry, protocol):
    """Evidence as if it had been measured, with the digests as they are now."""
    from keras_bct.evaluation import decide
    from registry.protocol_data import ProtocolData, read_protocol

    def make(new, old, difference=0.05, *, gain=None, path=protocol, **changes):
        read = read_protocol(path)
        new_print, old_print = (registry.version(n).fingerprint for n in (new, old))
        measured = dataclasses.replace(
            comparison(difference, gain),
            confidence=read.gate.confidence,
            min_gain=read.gate.min_gain,
        )
        decision = decide(measured, read.gate)
        numbers = measured["retrieval/mAP"]
        low, high = numbers.difference_interval(0.95)
        evidence = Evidence(
            new_fingerprint=new_print,
            old_fingerprint=old_print,
            paragon_fingerprint=None,
            protocol=str(path),
            protocol_name=read.name,
            protocol_digest=read.digest(),
            data_digest=ProtocolData(read, registry.galleries_folder).digest(old_print),
            distance="cosine",
            first_components=64,
            answer=decision.answer,
            reasons=decision.reasons,
            seed=0,
            metrics=(
                MetricEvidence(
                    metric="retrieval/mAP",
                    old_old=numbers.old_old,
                    new_old=numbers.new_old,
                    new_new=numbers.new_new,
                    gain=gain,
                    low=low,
                    high=high,
                    confidence=0.95,
                    negative_flips=numbers.negative_flips,
                ),
            ),
            comparison=measured.to_json(),
        )
        return dataclasses.replace(evidence, **changes)

    return make


@pytest.fixture
def three(registry, make_model, protocol):
    """Three versions; `production` stands at the first."""
    for name in "abc":
        registry.register("glyphs", make_model(name))
    registry.promote(
        "glyphs/1", "production", require_compatible=True, protocol=protocol
    )
    return registry


@pytest.fixture
def fill_gallery(registry):
    """Appends `rows` random vectors of a version to a gallery, made when it is new."""

    def fill(name, version, rows=20, start=0):
        found = registry.version(version)
        if name not in registry.galleries():
            registry.create_gallery(name, found.model, found.embedding_size)
        gallery = registry.gallery(name)
        vectors = np.random.default_rng(start).normal(size=(rows, found.embedding_size))
        return gallery.append(
            [f"row-{start + n}" for n in range(rows)],
            vectors.astype(np.float32),
            found.fingerprint,
            labels=[f"class-{n % 5}" for n in range(rows)],
        )

    return fill


@pytest.fixture
def environment():
    """Environment of a process that runs this tree's code."""
    paths = [PYTHONPATH, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


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
    """(64, size) linear maps; `new` agrees with `old`, but lets no noise in."""
    signal = np.random.default_rng(1).normal(size=(64, 32))[:, :size]
    other = np.random.default_rng(2).normal(size=(64, 32))[:, :size]
    tells = (np.arange(64) % 8 < SIGNAL)[:, None]
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


@pytest.fixture
def toy_protocol(tmp_path):
    """A protocol on toy pictures, with TFRecords beside it."""
    from keras_bct.data import write_records

    write_records(tmp_path / "toy-queries.tfrecord", toy_pictures(1))
    write_records(tmp_path / "toy-gallery.tfrecord", toy_pictures(2))
    path = tmp_path / "toy.yaml"
    path.write_text(
        "name: toy\n"
        "queries: {source: tfrecord, path: toy-queries*.tfrecord, camera: camera}\n"
        "gallery: {source: tfrecord, path: toy-gallery*.tfrecord, camera: camera}\n"
        "metrics: [retrieval/mAP]\n"
        "bootstrap: {replicates: 500}\n"
    )
    return path


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
