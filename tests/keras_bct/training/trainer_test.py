"""Every kind of training leaves a version that embeds, and says what it did."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_bct.classifier import Classifier
from keras_bct.data import read_records
from keras_bct.data.record_index import RecordIndex
from keras_bct.evaluation import EmbeddingSet, Protocol, measure
from keras_bct.models import load_embedder
from keras_bct.training import (
    CriterionSettings,
    DataSettings,
    OptimizerSettings,
    Recipe,
)
from keras_bct.training.checkpoint import Checkpoints
from keras_bct.training.trainer import SIZE_MAP, train


def test_a_successor_embeds_and_knows_its_classes(place: Any, tmp_path: Path) -> None:
    summary = place.train(
        tmp_path,
        method="lwf",
        loss="normsoftmax",
        backbone="deep-glyph",
        old_rows="means",
        relu=True,
    )
    version = tmp_path / "version"
    embeddings = load_embedder(version).embed(np.zeros((1, 32, 32, 1), np.float32))
    assert embeddings.shape == (1, 4)
    assert (embeddings >= 0).all()
    classifier = Classifier.load(version / "assets.extra")
    assert (classifier.kind, classifier.classes) == ("normsoftmax", 6)
    assert (summary.classes, summary.pictures, summary.steps) == (6, 24, 10)


@pytest.mark.slow
def test_a_learned_map_lies_beside_the_classifier(place: Any, tmp_path: Path) -> None:
    place.train(tmp_path, method="beta-kd", embedding_size=7, size_map=True)
    version = tmp_path / "version"
    assert np.load(version / "assets.extra" / SIZE_MAP).shape == (7, 4)
    assert load_embedder(version).embedding_size == 7


@pytest.mark.slow
def test_the_papers_optimizer_trains_a_resnet_of_faces(
    place: Any, tmp_path: Path
) -> None:
    summary = place.train(
        tmp_path,
        backbone="resnet18",
        width=None,
        steps=None,
        epochs=2,
        learning_rate=0.01,
        optimizer=OptimizerSettings("sgd", "steps", 0.9, 5e-4, (1,)),
        augmentation=("misalignment", "colour", "flip"),
        label_smoothing=0.1,
        pictures_per_class=2,
        precision="mixed_bfloat16",
    )
    # Two passes over 24 pictures, 8 at a time.
    assert (summary.steps, len(summary.history)) == (6, 2)
    assert np.isfinite([logs["loss"] for logs in summary.history]).all()
    embedder = load_embedder(tmp_path / "version")
    pictures = np.random.default_rng(0).uniform(0, 255, (2, 32, 32, 1))
    assert embedder.embed(pictures.astype("float32")).shape == (2, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patience", "stopped"), [(None, False), (1, True), (100, False)]
)
def test_the_criterion_is_that_of_the_exported_version(
    patience: int | None, stopped: bool, place: Any, tmp_path: Path
) -> None:
    summary = place.train(
        tmp_path,
        criterion=CriterionSettings(place.protocol, "retrieval/mAP", patience),
        steps=40,
        interval_steps=4,
        # So high that the best interval is none of the last.
        learning_rate=0.1,
    )
    records = read_records(place.pictures)
    protocol = Protocol.from_yaml(place.protocol)

    def embedded(version: Any) -> EmbeddingSet:
        rows = load_embedder(version).embed_bytes(records.images, records.ids.tolist())
        return EmbeddingSet(records.ids, records.labels, records.cameras, rows)

    old, new = embedded(place.version), embedded(tmp_path / "version")
    metric = "retrieval/mAP"
    new_old = measure(protocol, new, old).values[metric]
    old_old = measure(protocol, old, old).values[metric]
    assert summary.stopped_early == stopped
    last = summary.last
    assert (last == summary.history[-1]) == (patience is None)
    np.testing.assert_allclose(last["new_old"], new_old, atol=1e-6)
    np.testing.assert_allclose(last["old_old"], old_old, atol=1e-6)
    np.testing.assert_allclose(last["criterion"], new_old - old_old, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "output"), [("beta", "old"), ("l2", "embeddings")])
def test_scalars_say_what_the_logs_say(
    method: str, output: str, place: Any, tmp_path: Path
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorflow import make_ndarray

    criterion = CriterionSettings(place.protocol)
    summary = place.train(tmp_path, method=method, criterion=criterion)
    events = EventAccumulator(str(tmp_path / "logs"))
    events.Reload()
    metric = "criterion/retrieval/mAP"
    logged = {
        "loss": "loss",
        "loss/new": "new_loss",
        f"loss/{output}": f"{output}_loss",
        "old_share": "old_share",
        "old_angle": "old_angle",
        f"{metric}/new_old": "new_old",
        f"{metric}/old_old": "old_old",
        f"{metric}/difference": "criterion",
    }
    assert set(events.Tags()["tensors"]) == {*logged, "learning_rate"}
    for scalar, name in logged.items():
        points = events.Tensors(scalar)
        assert [point.step for point in points] == list(range(1, 11))
        np.testing.assert_allclose(
            [float(make_ndarray(point.tensor_proto)) for point in points],
            [logs[name] for logs in summary.history],
            rtol=1e-6,
        )
    # Half of the pictures are of the three characters that the old version knows:
    # 10 batches of 8 are three passes over 24 pictures and 8 more.
    shares = [logs["old_share"] for logs in summary.history]
    assert abs(np.mean(shares[:9]) - 0.5) < 1e-6


@pytest.mark.slow
def test_the_angle_is_that_of_the_exported_version(place: Any, tmp_path: Path) -> None:
    summary = place.train(tmp_path, embedding_size=6)
    records = read_records(place.pictures)
    old = Classifier.load(Path(place.version) / "assets.extra")
    embedder = load_embedder(tmp_path / "version")
    angles = []
    embeddings = embedder.embed_bytes(records.images, records.ids.tolist())
    for label, embedding in zip(records.labels, embeddings, strict=True):
        if label in old.class_names:
            row = old.weights[old.class_names.index(label)].astype(float)
            first = embedding[:4].astype(float)
            cosine = first @ row / np.sqrt((first @ first) * (row @ row))
            angles.append(np.degrees(np.arccos(cosine)))
    np.testing.assert_allclose(
        summary.history[-1]["old_angle"], np.mean(angles), atol=1e-3
    )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_version(
    place: Any, tmp_path: Path, embedding_of: Any
) -> None:
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        place.train(tmp_path / name, method="beta-kd", seed=seed)
    one, two, other = (
        embedding_of(tmp_path / name / "version") for name in ("one", "two", "other")
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.slow
def test_pictures_on_disk_train_the_same_version(
    place: Any, tmp_path: Path, embedding_of: Any
) -> None:
    for name, in_memory in (("memory", True), ("disk", False)):
        data = DataSettings(place.pictures, in_memory=in_memory)
        place.train(tmp_path / name, method="beta-sys", data=data)
    np.testing.assert_array_equal(
        embedding_of(tmp_path / "memory/version"),
        embedding_of(tmp_path / "disk/version"),
    )


class Killed(BaseException):
    """Stands for a signal between two intervals."""


@pytest.mark.slow
def test_a_training_ends_at_its_last_step_inside_an_interval_also_after_a_restart(
    place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedding_of: Any
) -> None:
    keep = Checkpoints.on_epoch_end
    done: list[int] = []
    killed_at = 12

    def counted(self: Checkpoints, epoch: int, logs: Any = None) -> None:
        keep(self, epoch, logs)
        done.append(int(self.model.optimizer.iterations))
        if done[-1] == killed_at:
            raise Killed

    monkeypatch.setattr(Checkpoints, "on_epoch_end", counted)
    with pytest.raises(Killed):
        place.train(tmp_path / "broken", steps=13)
    assert done == [2, 4, 6, 8, 10, 12]
    summary = place.train(tmp_path / "broken", steps=13)
    assert (done[-1], summary.steps, summary.resumed_at) == (13, 13, 12)

    killed_at = 0
    done.clear()
    assert place.train(tmp_path / "unbroken", steps=13).history == summary.history
    assert done == [2, 4, 6, 8, 10, 12, 13]
    np.testing.assert_array_equal(
        embedding_of(tmp_path / "broken/version"),
        embedding_of(tmp_path / "unbroken/version"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("progress", [True, False])
def test_pictures_on_disk_are_read_once_and_in_silence_where_it_is_asked_for(
    progress: bool, place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan, scans = RecordIndex.scan, []

    def counted(*patterns: Any, **options: Any) -> RecordIndex:
        scans.append(options["progress"])
        return scan(*patterns, **options)

    monkeypatch.setattr(RecordIndex, "scan", counted)
    recipe = place.recipe(
        method="independent", data=DataSettings(place.pictures, in_memory=False)
    )
    train(recipe, [place.pictures], str(tmp_path / "version"), progress=progress)
    assert scans == [progress]


def test_a_method_that_follows_asks_for_a_predecessor(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train the first version with"):
        train(Recipe("beta", 2, 10), ["none"], str(tmp_path / "version"))


@pytest.mark.parametrize("content", ["saved_model.pb", "notes.txt"])
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "not-kept"])
def test_a_directory_that_holds_something_is_refused_before_any_work(
    content: str, kept: bool, tmp_path: Path
) -> None:
    (tmp_path / "version").mkdir()
    (tmp_path / "version" / content).touch()
    with pytest.raises(FileExistsError, match=f"should be empty .*'{content}'"):
        train(
            Recipe("independent", 2, 10),
            # Looking for them would be work.
            [str(tmp_path / "none.tfrecord")],
            str(tmp_path / "version"),
            work_directory=str(tmp_path) if kept else None,
        )


@pytest.mark.slow
def test_an_empty_directory_is_filled(place: Any, tmp_path: Path) -> None:
    (tmp_path / "version").mkdir()
    place.train(tmp_path, method="independent")
    assert (tmp_path / "version" / "saved_model.pb").is_file()


def test_a_criterion_of_unequal_sizes_asks_for_the_first_components(
    place: Any, tmp_path: Path
) -> None:
    criterion = CriterionSettings(place.protocol)
    with pytest.raises(ValueError, match="first_components: 4"):
        place.train(tmp_path, embedding_size=6, criterion=criterion)


def test_a_metric_that_the_protocol_has_not_is_refused(
    place: Any, tmp_path: Path
) -> None:
    criterion = CriterionSettings(place.protocol, "retrieval/CMC@7")
    with pytest.raises(ValueError, match=r"`criterion.metric` should be one of"):
        place.train(tmp_path, criterion=criterion)


@pytest.mark.parametrize("deterministic", [True, False])
def test_determinism_is_asked_for_before_anything_runs(
    deterministic: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import tensorflow as tf

    asked: list[bool] = []
    monkeypatch.setattr(
        tf.config.experimental, "enable_op_determinism", lambda: asked.append(True)
    )
    recipe = Recipe("independent", 2, 10, deterministic=deterministic)
    with pytest.raises(FileNotFoundError):
        train(recipe, [str(tmp_path / "none.tfrecord")], str(tmp_path / "version"))
    assert asked == [True] * deterministic


@pytest.mark.parametrize("method", ["beta", "l2", "beta-kd", "lwf"])
def test_a_predecessor_that_knows_no_class_of_the_pictures_is_refused_before_a_step(
    place: Any, tmp_path: Path, method: str
) -> None:
    stranger = tmp_path / "stranger"
    shutil.copytree(place.version, stranger)
    old = Classifier.load(stranger / "assets.extra")
    renamed = tuple(f"U+{ord(name):X}" for name in old.class_names)
    dataclasses.replace(old, class_names=renamed).save(stranger / "assets.extra")
    with pytest.raises(ValueError, match=r"no name in common.*'U\+.*beta-sys"):
        train(
            place.recipe(method=method),
            [place.pictures],
            str(tmp_path / "version"),
            predecessor=str(stranger),
            progress=False,
        )
    assert not (tmp_path / "version").exists()
