"""The components that ask and change the registry, each called by itself."""

import json
import shutil

import pytest
from tfx.types.standard_artifacts import Model, ModelBlessing, PushedModel

from keras_bct.data import write_records
from registry import UsageError
from tfx_pipeline.artifacts import CompatibilityEvidence, ScannIndex
from tfx_pipeline.compatibility_evaluator import CompatibilityEvaluator
from tfx_pipeline.registry_pusher import RegistryPusher
from tfx_pipeline.scann_indexer import ScannIndexer


class Run:
    """One run from the trained model on, with artifacts in a folder of its own."""

    def __init__(self, registry, protocol, trained, predecessor, folder):
        self.names = {
            "registry_root": registry.root.url,
            "model_name": "toy",
            "alias": "production",
            "protocol": str(protocol),
        }
        self.artifacts = {
            "model": Model(),
            "predecessor": Model(),
            "blessing": ModelBlessing(),
            "evidence": CompatibilityEvidence(),
        }
        for name, artifact in self.artifacts.items():
            artifact.uri = str(folder / name)
        shutil.copytree(trained, folder / "model" / "Format-Serving")
        self.folder = folder
        self.artifacts["predecessor"].set_string_custom_property("version", predecessor)

    def evaluate(self):
        CompatibilityEvaluator.test_call(**self.names, **self.artifacts, paragon="")
        evidence = self.artifacts["evidence"]
        return evidence.answer

    def push(self):
        self.pushed = pushed = PushedModel()
        RegistryPusher.test_call(
            **self.names, **self.artifacts, gallery="toys", pushed_model=pushed
        )
        return {
            name: pushed.get_custom_property(name)
            for name in ("pushed", "pushed_version", "reasons")
        }

    def index(self, images):
        index = ScannIndex()
        index.uri = str(self.folder / "index")
        names = {name: self.names[name] for name in self.names if name != "protocol"}
        ScannIndexer.test_call(
            **names,
            pushed_model=self.pushed,
            index=index,
            gallery="toys",
            images=images,
            queries="",
        )
        return json.loads((self.folder / "index" / "index.json").read_text())


@pytest.fixture
def start(registry, toy_protocol, tmp_path):
    """Begins a run; the first version serves its own vectors."""
    runs = []

    def start(trained, predecessor=""):
        folder = tmp_path / f"run-{len(runs)}"
        runs.append(Run(registry, toy_protocol, trained, predecessor, folder))
        return runs[-1]

    return start


@pytest.fixture
def served(registry, start, toy_model, pictures):
    first = start(toy_model("old"))
    assert (first.evaluate(), first.push()["pushed"]) == ("bootstrap", 1)
    registry.add_pictures("toys", pictures(2), registry.version("toy/1"))
    registry.publish_index("toys", "toy", "production")
    return registry


def variant(model, folder):
    """The same model with other files."""
    shutil.copytree(model, folder)
    (folder / "assets.extra" / "note.txt").write_text(folder.name)
    return folder


def test_a_third_version_is_measured_against_all_whose_vectors_are_served(
    served,
    start,
    toy_model,
    tmp_path,
):
    second = start(toy_model("new"), "toy/1")
    assert second.evaluate() == "yes"
    assert second.push()["pushed"] == 1
    # Served are still the vectors of toy/1, and the predecessor is toy/2. The third is
    # like the second, so against that one it is not better, and the answer says so.
    third = start(variant(toy_model("new"), tmp_path / "third"), "toy/2")
    assert third.evaluate() != "yes"
    blessing = third.artifacts["blessing"]
    reasons = blessing.get_string_custom_property("reasons")
    assert "against toy/1: " in reasons
    assert "against toy/2: " in reasons
    assert third.push() == {"pushed": 0, "pushed_version": "toy/3", "reasons": reasons}
    measured = {e.old_fingerprint for e in served.evidence_of(served.version("toy/3"))}
    assert measured == {served.version(f"toy/{n}").fingerprint for n in (1, 2)}


@pytest.mark.parametrize("said", ["from the start", "since the last run"])
def test_a_protocol_of_first_components_promotes_over_them(
    registry, start, toy_protocol, toy_model, pictures, said
):
    """And what is served is compared by as many, whatever the models' own sizes."""
    first = "first_components: 8\n"
    whole = toy_protocol.read_text()
    if said == "from the start":
        toy_protocol.write_text(whole + first)
    bootstrap = start(toy_model("old"))
    assert (bootstrap.evaluate(), bootstrap.push()["pushed"]) == ("bootstrap", 1)
    registry.add_pictures("toys", pictures(2), registry.version("toy/1"))
    served = registry.publish_index("toys", "toy", "production")
    assert served.first_components == (8 if said == "from the start" else 16)

    toy_protocol.write_text(whole + first)
    second = start(toy_model("new", 24), "toy/1")
    assert second.evaluate() == "yes"
    assert second.push()["pushed"] == 1
    alias = registry.alias("toy@production")
    assert (alias.version.name, alias.index.first_components) == ("toy/2", 8)
    # One that compares as many already stays.
    assert (alias.index == served) == (said == "from the start")
    assert registry.search("toy@production", pictures(1).images[:1], k=1)


def test_a_narrower_version_adds_its_pictures_beside_wider_rows(
    registry, start, toy_protocol, toy_model, pictures, tmp_path
):
    """It was promoted over the components that both have."""
    toy_protocol.write_text(toy_protocol.read_text() + "first_components: 8\n")
    bootstrap = start(toy_model("old"))
    assert (bootstrap.evaluate(), bootstrap.push()["pushed"]) == ("bootstrap", 1)
    registry.add_pictures("toys", pictures(2), registry.version("toy/1"))
    registry.publish_index("toys", "toy", "production")
    second = start(toy_model("new", 12), "toy/1")
    assert (second.evaluate(), second.push()["pushed"]) == ("yes", 1)

    write_records(tmp_path / "more.tfrecord", pictures(4))
    published = second.index(str(tmp_path / "more.tfrecord"))

    made_by = {registry.version(f"toy/{n}").fingerprint: 90 for n in (1, 2)}
    assert published["fingerprints"] == made_by
    assert registry.gallery("toys").sizes == dict(zip(made_by, (16, 12), strict=True))
    assert registry.alias("toy@production").index.first_components == 8
    assert registry.search("toy@production", pictures(1).images[:1], k=1)


def test_a_run_that_was_stopped_before_it_promoted_can_be_repeated(
    served,
    start,
    toy_model,
):
    served.register("toy", toy_model("new"), predecessor="toy/1")
    again = start(toy_model("new"), "toy/1")
    assert again.evaluate() == "yes"
    assert again.push()["pushed_version"] == "toy/2"
    assert served.resolve("toy@production").name == "toy/2"
    # And one that was stopped after it.
    repeated = again.push()
    assert (repeated["pushed"], repeated["pushed_version"]) == (1, "toy/2")
    assert len(served.versions()) == 2


def test_an_alias_that_moved_after_the_blessing_refuses_and_says_why(
    served, start, toy_model, pictures
):
    run = start(toy_model("new"), "toy/1")
    assert run.evaluate() == "yes"
    other = served.register("toy", toy_model("independent"))
    served.promote("toy/2", "production", force=True, reason="meanwhile")
    served.add_pictures("toys", pictures(3), other)
    index = served.build_index("toys", leave_out=["toy/1"])
    served.serve_index("toy@production", str(index))
    pushed = run.push()
    assert (pushed["pushed"], pushed["pushed_version"]) == (0, "toy/3")
    assert "toy/3 against toy/2: there is no evidence" in pushed["reasons"]
    assert served.resolve("toy@production").name == "toy/2"


def test_evidence_edited_on_the_way_is_refused(
    served,
    start,
    toy_model,
    tmp_path,
):
    run = start(toy_model("independent"), "toy/1")
    assert run.evaluate() == "no"
    path = tmp_path / "run-1" / "evidence" / "evidence.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "answer": "yes"}))
    with pytest.raises(UsageError, match="`answer` should follow from `comparison`"):
        run.push()
    assert served.edges() == []
