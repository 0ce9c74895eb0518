"""What a run is told before its first step."""

import dataclasses
import pathlib
import shutil
import sys

import pytest

from keras_bct.configuration import from_mapping
from registry import Registry, UsageError
from tfx_pipeline import local_runner
from tfx_pipeline.pipeline import (
    Alignment,
    Gallery,
    PipelineConfiguration,
    create_pipeline,
)
from tfx_pipeline.preflight import check_run

SCHEMA = pathlib.Path(__file__).parents[2] / "examples" / "kanji" / "schema.pbtxt"
PROTOCOL = """
name: toys
queries: {source: tfrecord, path: queries.tfrecord}
gallery: {source: tfrecord, path: gallery.tfrecord}
metrics: [retrieval/mAP]
"""


@pytest.fixture
def values(tmp_path, registry):
    """A run that can be begun; nothing reads what is in its pictures before that."""
    data = tmp_path / "data"
    data.mkdir()
    for name in ("train-0", "train-1", "queries", "gallery"):
        (data / f"{name}.tfrecord").touch()
    (data / "protocol.yaml").write_text(PROTOCOL)
    shutil.copy(SCHEMA, data)
    return {
        "name": "toys",
        "root": str(tmp_path / "pipeline"),
        "registry_root": registry.root.url,
        "model_name": "toy",
        "alias": "production",
        "protocol": str(data / "protocol.yaml"),
        "data": {
            "directory": str(data),
            "train": "train-*.tfrecord",
            "eval": "queries.tfrecord",
            "schema": str(data / "schema.pbtxt"),
        },
        "gallery": {"name": "toys", "images": str(data / "gallery.tfrecord")},
        "recipe": {"method": "independent", "steps": 1, "width": 4},
    }


@pytest.fixture
def run(values):
    return from_mapping(PipelineConfiguration, values, source="this test")


def test_a_run_that_can_succeed_is_begun(run):
    check_run(run)
    check_run(dataclasses.replace(run, paragon="new"))
    spans = dataclasses.replace(run.data, train="span-{SPAN}/train.tfrecord")
    check_run(dataclasses.replace(run, data=spans))


def changed(field, value):
    """A run with another value in a field, a dot leads into a section."""

    def change(run):
        section, dot, inner = field.partition(".")
        new = value
        if dot:
            new = dataclasses.replace(getattr(run, section), **{inner: value})
        return dataclasses.replace(run, **{section: new})

    return pytest.param(change, field, id=f"{field} {value}")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        changed("model_name", "a b"),
        changed("alias", "7"),
        changed("gallery.name", "../toys"),
        changed("gallery.images", "/nowhere/*.tfrecord"),
        changed("gallery.queries", "/nowhere/*.tfrecord"),
        changed("data.train", "nothing-*.tfrecord"),
        changed("data.eval", "nothing.tfrecord"),
        changed("data.schema", "/nowhere/schema.pbtxt"),
        changed("data.directory", "/nowhere"),
        changed("protocol", "/nowhere/protocol.yaml"),
        changed("registry_root", "/nowhere"),
        changed("paragon", "toy/7"),
        changed("database_variable", "NO_SUCH_VARIABLE"),
        changed("database_variable", "postgresql+psycopg://me:S3cret@host/name"),
    ],
)
def test_what_would_stop_it_is_said_before_the_first_step(run, change, field):
    named = {
        "data.directory": "data.train",
        "database_variable": "database_variable",
    }.get(field, field)
    with pytest.raises(UsageError, match="nothing was begun") as refused:
        create_pipeline(change(run))
    assert f"`{named}`" in str(refused.value)
    assert "S3cret" not in str(refused.value)
    assert not pathlib.Path(run.root).exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("path: gallery", "path: gallery-7", "No file matches"),
        ("retrieval/mAP", "retrieval/map", "retrieval/mAP"),
        (
            "{source: tfrecord, path: queries",
            "{source: gallery, path: queries",
            "embed",
        ),
    ],
)
def test_a_protocol_that_cannot_be_measured_is_refused(run, old, new, said):
    path = pathlib.Path(run.protocol)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UsageError, match=rf"`protocol`: .*{said}"):
        check_run(run)


def test_all_that_is_wrong_is_said_at_once(run):
    wrong = dataclasses.replace(run, model_name="a b", protocol="/nowhere", paragon="x")
    with pytest.raises(UsageError) as refused:
        check_run(wrong)
    assert [line.split("`")[1] for line in str(refused.value).splitlines()[1:]] == [
        "model_name",
        "protocol",
        "paragon",
    ]


def test_stored_vectors_are_asked_for_once_something_is_served(
    run, registry, toy_model
):
    path = pathlib.Path(run.protocol)
    stored = "gallery: {source: gallery, path: stored}"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(stored if "gallery:" in line else line for line in lines))
    aligned = dataclasses.replace(run, aligner=Alignment(embeddings="pairs"))
    check_run(aligned)
    registry.register("toy", toy_model("old"))
    registry.promote("toy/1", "production", require_compatible=True)
    with pytest.raises(UsageError) as refused:
        check_run(aligned)
    assert "`protocol`: There is no gallery 'stored'" in str(refused.value)
    assert "`aligner.embeddings`: There is no gallery 'pairs'" in str(refused.value)


def test_a_remote_root_runs_without_a_gallery(run, tmp_path, monkeypatch):
    database = f"sqlite:///{tmp_path}/apart.db"
    monkeypatch.setenv("REGISTRY_DATABASE", database)
    Registry.init("memory://registry", database=database).database.close()
    remote = dataclasses.replace(run, registry_root="memory://registry")
    with pytest.raises(UsageError, match=r"'memory://registry' is remote.*`gallery`"):
        check_run(remote)
    pipeline = create_pipeline(dataclasses.replace(remote, gallery=None))
    assert "ScannIndexer" not in pipeline.components[-1].id


def test_no_parameter_of_a_component_holds_the_databases_url(
    run, tmp_path, monkeypatch
):
    database = f"sqlite:///{tmp_path}/apart.db"
    monkeypatch.setenv("ELSEWHERE", database)
    Registry.init(run.registry_root, database=database).database.close()
    asked = dataclasses.replace(
        run, database_variable="ELSEWHERE", gallery=Gallery("toys")
    )
    properties = {
        component.id: dict(component.exec_properties)
        for component in create_pipeline(asked).components
    }
    asking = {name for name, kept in properties.items() if "registry_root" in kept}
    assert asking == {
        "PredecessorResolver",
        "CompatibilityEvaluator",
        "RegistryPusher",
        "ScannIndexer",
    }
    for name in asking:
        assert properties[name]["database_variable"] == "ELSEWHERE"
    assert "apart.db" not in str(properties)


@pytest.mark.parametrize(
    "text", ["name: toys", "[", "nothing: 1"], ids=["lacks keys", "no YAML", "a key"]
)
def test_a_run_file_that_is_none_exits_2(tmp_path, monkeypatch, capsys, text):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    monkeypatch.setattr(sys, "argv", ["local_runner", str(path)])
    with pytest.raises(SystemExit) as left:
        local_runner.main()
    assert left.value.code == 2
    assert str(path) in capsys.readouterr().err


def test_a_run_that_cannot_succeed_exits_2(values, tmp_path, monkeypatch, capsys):
    import yaml

    path = tmp_path / "run.yaml"
    values["gallery"]["images"] = "/nowhere/*.tfrecord"
    path.write_text(yaml.safe_dump(values))
    monkeypatch.setattr(sys, "argv", ["local_runner", str(path)])
    with pytest.raises(SystemExit) as left:
        local_runner.main()
    assert left.value.code == 2
    assert "`gallery.images`" in capsys.readouterr().err
