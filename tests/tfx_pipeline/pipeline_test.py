"""The real pipeline, three times, on a few real kanji and few steps."""

import json
import pathlib
import shutil

import pytest
from tfx.orchestration import metadata
from tfx.v1 import orchestration

from keras_bct.configuration import from_mapping
from keras_bct.data import glyphs, write_records
from keras_bct.data.glyph_records import to_records
from registry import Registry
from tfx_pipeline.local_runner import run
from tfx_pipeline.pipeline import PipelineConfiguration

SCHEMA = pathlib.Path(__file__).parents[2] / "examples" / "kanji" / "schema.pbtxt"
PROTOCOL = """
name: few-kanji
queries: {source: tfrecord, path: queries.tfrecord}
gallery: {source: tfrecord, path: gallery.tfrecord}
metrics: [retrieval/mAP]
bootstrap: {replicates: 200}
"""


def configuration(root, *, train, method, **recipe):
    return from_mapping(
        PipelineConfiguration,
        {
            "name": "kanji",
            "root": str(root / "pipeline"),
            "registry_root": str(root / "registry"),
            "model_name": "glyphs",
            "alias": "production",
            "protocol": str(root / "data" / "protocol.yaml"),
            "data": {
                "directory": str(root / "data"),
                "train": train,
                "eval": "queries.tfrecord",
                "schema": str(root / "data" / "schema.pbtxt"),
            },
            "gallery": {
                "name": "kanji",
                "images": str(root / "data" / "gallery.tfrecord"),
                "queries": str(root / "data" / "queries.tfrecord"),
            },
            "recipe": {
                "method": method,
                "steps": 400,
                "batch_size": 32,
                "learning_rate": 5e-3,
                "embedding_size": 16,
                **recipe,
            },
        },
        source="this test",
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("pipeline")
    data = root / "data"
    data.mkdir()
    kanji = glyphs.load()
    characters = kanji.split("train").characters
    # The queries' faces are new to the old model and known to its successor, which
    # leaves the successor room to be better within the steps of a test.
    query_faces, gallery_faces = kanji.typefaces[:6], kanji.typefaces[6:]
    for name, classes, typefaces in [
        ("train-old", characters[:20], gallery_faces),
        ("train", characters[:30], kanji.typefaces),
        ("queries", characters[:20], query_faces),
        ("gallery", characters[:20], gallery_faces),
    ]:
        chosen = kanji.select(characters=classes, typefaces=typefaces)
        write_records(data / f"{name}.tfrecord", to_records(chosen))
    (data / "protocol.yaml").write_text(PROTOCOL)
    shutil.copy(SCHEMA, data)
    registry = Registry.init(root / "registry")
    outcomes = {}
    indexed = {}
    for name, run_configuration in {
        "phi1": configuration(
            root, train="train-old.tfrecord", method="independent", width=4
        ),
        "independent": configuration(
            root, train="train.tfrecord", method="independent", width=8, steps=20
        ),
        "beta-sys": configuration(
            root, train="train.tfrecord", method="beta-sys", width=8, seed=6
        ),
    }.items():
        outcomes[name] = run(run_configuration)
        indexed[name] = registry.alias("glyphs@production")
    return root, registry, outcomes, indexed


def artifacts(root, type_name):
    connection = orchestration.metadata.sqlite_metadata_connection_config(
        str(root / "pipeline" / "mlmd.db")
    )
    with metadata.Metadata(connection) as mlmd:
        return mlmd.store.get_artifacts_by_type(type_name)


def test_the_first_run_is_a_bootstrap_and_says_so(runs):
    _, registry, outcomes, indexed = runs
    assert outcomes["phi1"].promoted
    assert str(indexed["phi1"].version) == "glyphs/1"
    assert registry.history("glyphs@production")[0].action == "bootstrap"


def test_a_free_successor_is_registered_but_neither_blessed_nor_promoted(runs):
    _, registry, outcomes, indexed = runs
    assert outcomes["independent"].version == "glyphs/2"
    assert not outcomes["independent"].promoted
    assert outcomes["independent"].reasons
    assert indexed["independent"] == indexed["phi1"]
    assert registry.evidence_of(registry.version("glyphs/2"))[0].answer != "yes"


def test_a_compatible_successor_serves_the_embeddings_of_the_old_model(runs):
    _, registry, outcomes, indexed = runs
    assert outcomes["beta-sys"].promoted, outcomes["beta-sys"].reasons
    alias = indexed["beta-sys"]
    assert str(alias.version) == "glyphs/3"
    assert set(alias.index.fingerprints) == {registry.version("glyphs/1").fingerprint}
    # Published anew for the new version, out of the same stored rows.
    assert alias.index.number > indexed["phi1"].index.number
    assert registry.gallery("kanji").generation == 1


def test_the_blessing_is_the_standard_file_and_property(runs):
    root, *_ = runs
    blessings = sorted(artifacts(root, "ModelBlessing"), key=lambda a: a.id)
    files = [sorted(p.name for p in pathlib.Path(b.uri).iterdir()) for b in blessings]
    assert files == [["BLESSED"], ["NOT_BLESSED"], ["BLESSED"]]
    assert [b.custom_properties["blessed"].int_value for b in blessings] == [1, 0, 1]


def test_the_lineage_shows_the_predecessor_as_an_input_of_the_training(runs):
    root, registry, *_ = runs
    connection = orchestration.metadata.sqlite_metadata_connection_config(
        str(root / "pipeline" / "mlmd.db")
    )
    with metadata.Metadata(connection) as mlmd:
        trainings = mlmd.store.get_executions_by_type(
            "tfx.components.trainer.component.Trainer"
        )
        last = max(trainings, key=lambda execution: execution.id)
        inputs = {
            event.artifact_id
            for event in mlmd.store.get_events_by_execution_ids([last.id])
            if event.type == event.INPUT
        }
        found = mlmd.store.get_artifacts_by_id(list(inputs))
    fingerprints = {a.custom_properties["fingerprint"].string_value for a in found}
    assert registry.version("glyphs/1").fingerprint in fingerprints


def test_the_evidence_artifact_holds_the_numbers(runs):
    root, *_ = runs
    last = max(artifacts(root, "CompatibilityEvidence"), key=lambda a: a.id)
    numbers = json.loads((pathlib.Path(last.uri) / "evidence.json").read_text())
    assert last.properties["answer"].string_value == "yes"
    assert numbers["metrics"][0]["metric"] == "retrieval/mAP"
    assert numbers["metrics"][0]["low"] > 0
