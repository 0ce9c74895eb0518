"""The aligned form of the pipeline, end to end: its example is run as it stands."""

import json
import pathlib
import re

import pytest
import yaml
from tfx.orchestration import metadata
from tfx.v1 import orchestration

from examples.aligned.story import tell
from keras_bct.configuration import from_mapping
from registry import InvalidModelError, Registry
from tfx_pipeline.pipeline import Alignment, PipelineConfiguration

pytestmark = pytest.mark.slow

ALIGNED = pathlib.Path(__file__).parents[2] / "examples" / "aligned"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    root = tmp_path_factory.mktemp("aligned") / "out"
    return root, tell(root)


@pytest.fixture
def registry(told):
    registry = Registry(told[0] / "registry")
    yield registry
    registry.database.close()


def test_both_runs_promote_and_the_second_does_so_through_a_map(told, registry):
    _, story = told
    assert [(run.version, run.promoted) for run in story.runs] == [
        ("glyphs/1", True),
        ("glyphs/2", True),
    ], story.runs
    actions = [move.action for move in registry.history("glyphs@production")]
    assert actions == ["bootstrap", "index", "promote"]


def test_version_and_mapped_index_moved_in_one_step(registry):
    move = registry.history("glyphs@production")[-1]
    assert (move.to_version, move.from_index, move.to_index) == (
        "glyphs/2",
        "glyphs#1",
        "glyphs#2",
    )


def test_the_served_rows_are_the_old_ones_through_the_adapter(registry):
    alias = registry.alias("glyphs@production")
    old = registry.version("glyphs/1").fingerprint
    assert set(alias.index.fingerprints) == {old}
    assert alias.index.adapters == {old: registry.adapter("glyphs:1").fingerprint}
    assert alias.index.first_components == 24


def test_nothing_of_the_gallery_was_embedded_again(registry):
    gallery = registry.gallery("kanji")
    assert gallery.generation == 1
    assert set(gallery.fingerprints) == {registry.version("glyphs/1").fingerprint}
    assert gallery.embedding_size == 16


def test_the_map_is_fitted_to_pairs_of_which_some_were_stored(registry):
    adapter = registry.adapter("glyphs:1")
    assert adapter.method == "Ridge"
    assert (adapter.input_size, adapter.output_size) == (16, 24)
    # 30 characters in every typeface; the gallery stores 20 of them in most.
    assert adapter.pairs == 30 * (registry.gallery("kanji").rows // 20 + 6)


def test_the_map_is_what_made_it_compatible(told, registry):
    root, _ = told
    (through,) = registry.evidence_of(registry.version("glyphs/2"))
    assert through.answer == "yes"
    assert through.adapter_fingerprint == registry.adapter("glyphs:1").fingerprint
    # Its own paragon: what embedding everything again would have come to.
    assert through.paragon_fingerprint == through.new_fingerprint
    # As they are stored its vectors cannot even be compared.
    with pytest.raises(InvalidModelError, match=r"24 components.*16"):
        registry.evaluate("glyphs/2", "glyphs/1", root / "data" / "few-kanji.yaml")


def test_the_lineage_shows_the_edge_through_the_adapter(told):
    _, story = told
    assert "✓ edge to glyphs/1 through adapter glyphs:1 (few-kanji" in story.lineage
    assert "440 vectors of glyphs/1 through glyphs:1)" in story.lineage


def test_the_mapped_rows_are_found(told):
    _, story = told
    assert story.right > 0.5


def test_mlmd_knows_predecessor_and_adapter_as_inputs(told, registry):
    root, _ = told
    connection = orchestration.metadata.sqlite_metadata_connection_config(
        str(root / "pipeline" / "mlmd.db")
    )
    with metadata.Metadata(connection) as mlmd:
        inputs = {}
        for execution in mlmd.store.get_executions():
            (kind,) = mlmd.store.get_execution_types_by_id([execution.type_id])
            events = mlmd.store.get_events_by_execution_ids([execution.id])
            ids = [e.artifact_id for e in events if e.type == e.INPUT]
            # The last run's, which come last.
            inputs[kind.name.rpartition(".")[2]] = mlmd.store.get_artifacts_by_id(ids)

        def said(component, place, name):
            return {
                getattr(artifact, place)[name].string_value
                for artifact in inputs[component]
            }

        one = registry.version("glyphs/1").fingerprint
        two = registry.version("glyphs/2").fingerprint
        aligner = next(name for name in inputs if name.startswith("Aligner"))
        evaluator = next(name for name in inputs if "Evaluator" in name)
        pusher = next(name for name in inputs if "Pusher" in name)
        indexer = next(name for name in inputs if "Indexer" in name)
        assert one in said(aligner, "custom_properties", "fingerprint")
        assert one in said(evaluator, "custom_properties", "fingerprint")
        for component in (evaluator, pusher, indexer):
            assert two in said(component, "properties", "new_fingerprint")
            assert one in said(component, "properties", "old_fingerprint")


def test_the_published_index_says_what_it_went_through(told, registry):
    root, _ = told
    found = sorted(root.glob("pipeline/artifacts/ScannIndexer/index/*/index.json"))
    last = json.loads(max(found, key=lambda path: int(path.parent.name)).read_text())
    assert last["index"] == "glyphs#2"
    assert list(last["adapters"].values()) == [registry.adapter("glyphs:1").fingerprint]
    assert pathlib.Path(registry.index("glyphs#2").location).is_dir()


def test_what_the_manual_shows_of_a_run_file_is_one():
    manual = pathlib.Path(__file__).parents[2] / "docs" / "pipeline.md"
    (shown,) = re.findall(r"```yaml\n(.*?)```", manual.read_text(), re.DOTALL)
    whole = {**yaml.safe_load((ALIGNED / "free.yaml").read_text())}
    configuration = from_mapping(
        PipelineConfiguration, whole | yaml.safe_load(shown), source="docs/pipeline.md"
    )
    assert configuration.aligner == Alignment("Ridge", {}, "kanji")
    assert configuration.paragon == "new"


@pytest.mark.parametrize(
    ("aligner", "said"),
    [
        ({"method": "Magic"}, r"`aligner\.method`.*'Magic'"),
        ({"method": "LowRank"}, r"`aligner\.settings`.*LowRank"),
        ({"method": "FastFill", "settings": {"epoch": 3}}, "epoch"),
        ({"methods": "Ridge"}, "methods"),
    ],
)
def test_an_aligner_that_cannot_be_is_an_error_before_any_work(aligner, said):
    whole = yaml.safe_load((ALIGNED / "free.yaml").read_text())
    with pytest.raises(ValueError, match=said):
        from_mapping(
            PipelineConfiguration, {**whole, "aligner": aligner}, source="this test"
        )
