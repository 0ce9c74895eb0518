"""Small stand-ins that need no TensorFlow: models, evidence, data."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from keras_bct.evaluation import Comparison, MetricComparison
from registry import Evidence, MetricEvidence, Registry
from registry.versions import candidate
from tests.registry.stand_in import stand_in_bytes, try_stand_in
from tests.registry.toys import (  # noqa: F401 - found by name
    pictures,
    toy_adapter,
    toy_embeddings,
    toy_model,
    toy_protocol,
)

PYTHONPATH = str(Path(__file__).parents[2])


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch):
    """Registering takes stand-ins of `make_model`, which TensorFlow could not load."""
    monkeypatch.setattr(candidate, "try_embedding", try_stand_in)


@pytest.fixture
def make_model(tmp_path):
    """Writes a SavedModel directory as `export_version` lays it out."""

    def make(name, *, size=64, distance="cosine", weights=None, training=None):
        folder = tmp_path / "exports" / name
        (folder / "variables").mkdir(parents=True)
        (folder / "assets.extra").mkdir()
        (folder / "saved_model.pb").write_bytes(stand_in_bytes(size))
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
    from registry.evidence.protocol_data import ProtocolData, read_protocol

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
def make_adapter(registry, tmp_path):
    """Writes an adapter between two registered versions: random numbers by seed."""
    from keras_bct.adapters import AffineMap, NewToOld, OldToNew

    def make(name, new="glyphs/2", old="glyphs/1", *, seed=0, sizes=None, **changes):
        old, new = registry.version(old), registry.version(new)
        sizes = sizes or (old.embedding_size, new.embedding_size)
        matrix = np.random.default_rng(seed).normal(size=sizes)
        backward = changes.pop("backward", False)
        words = {
            "old_fingerprint": old.fingerprint,
            "new_fingerprint": new.fingerprint,
            "method": "Ridge",
            "pairs": 100,
            "settings": {"strength": 0.5},
            **changes,
        }
        kind = NewToOld if backward else OldToNew
        folder = tmp_path / "adapters" / name
        kind(map=AffineMap(matrix, np.zeros(sizes[1])), **words).save(folder)
        return folder

    return make


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
            checked=True,
        )

    return fill


@pytest.fixture
def served(three, fill_gallery, make_adapter):
    """`production` serves glyphs/1 with its own rows; an adapter leads to glyphs/2."""
    fill_gallery("kanji", "glyphs/1")
    three.publish_index("kanji", "glyphs", "production")
    three.add_adapter(make_adapter("ridge"))
    return three


@pytest.fixture
def prove(served, make_evidence):
    """Stores evidence of a version against another, through an adapter or directly."""

    def prove(new, old, through=None, difference=0.05, **changes):
        adapter = None if through is None else served.adapter(through).fingerprint
        return served.add_evidence(
            make_evidence(new, old, difference, adapter_fingerprint=adapter, **changes)
        )

    return prove


@pytest.fixture
def environment():
    """Environment of a process that runs this tree's code."""
    paths = [PYTHONPATH, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


@pytest.fixture
def kill_while(environment):
    """Runs a registering call in a process that SIGKILL ends at an instant."""

    def run(call, root, folder, instant):
        # A name of a file: while it is half written. "published": when all files are
        # there and nobody knows it.
        script = textwrap.dedent(
            """
            import os, signal, sys
            from registry import Registry
            from registry.artifacts import reservation
            from registry.artifacts.storage import ArtifactRoot
            from tests.registry.stand_in import take_stand_ins

            take_stand_ins()
            root, folder, instant = sys.argv[1:]
            write = ArtifactRoot.write

            def die(*_):
                os.kill(os.getpid(), signal.SIGKILL)

            def half(chunks):
                yield next(iter(chunks))[:1]
                die()

            def torn(self, location, chunks, *rest):
                if instant in location:
                    chunks = half(chunks)
                return write(self, location, chunks, *rest)

            ArtifactRoot.write = torn
            if instant == "published":
                reservation.publish = die
            """
        )
        argv = [sys.executable, "-c", f"{script}\n{call}", root, folder, instant]
        died = subprocess.run([str(part) for part in argv], env=environment)
        assert died.returncode == -signal.SIGKILL

    return run


@pytest.fixture
def last_sync_fails(monkeypatch):
    """In its context the disk confirms nothing once a file was put in its place."""

    @contextlib.contextmanager
    def failing():
        replace, sync, replaced = os.replace, os.fsync, []

        def remember(*paths):
            replace(*paths)
            replaced.append(paths)

        def refuse(handle):
            if replaced:
                raise OSError(5, "Input/output error")
            sync(handle)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", remember)
            patch.setattr(os, "fsync", refuse)
            yield

    return failing
