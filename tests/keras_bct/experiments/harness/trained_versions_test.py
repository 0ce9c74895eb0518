"""A training is done once, and one that was killed is done again."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_bct.data import ImageRecords, write_records
from keras_bct.experiments import Recipe, Training
from keras_bct.experiments.harness.trained_versions import TrainedVersions

OLD = Training("old", Recipe("independent", 4, 10), "train-old")
NEW = Training("beta", Recipe("beta", 4, 10), "train", OLD)


class CountingTraining:
    """Writes a file in place of a version and remembers what it was asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str | None]] = []

    def __call__(
        self,
        recipe: Recipe,
        patterns: list[str],
        directory: str,
        *,
        predecessor: str | None,
    ) -> None:
        self.calls.append((recipe.method, predecessor))
        os.makedirs(directory)
        Path(directory, "saved_model.pb").write_bytes(b"whole")


class Killed(BaseException):
    """Stands for a signal in the middle of a training."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    for part in ("train-quarter", "train-old", "train"):
        records = ImageRecords(np.array(["1"]), [part.encode()], np.array(["a"]))
        write_records(directory / f"{part}.tfrecord", records)
    return directory


def versions(data: Path, train: Any) -> TrainedVersions:
    return TrainedVersions(
        data.parent / "output", data, train=train, say=lambda line: None
    )


def test_the_predecessor_is_trained_first_and_handed_over(data: Path) -> None:
    train = CountingTraining()
    made = versions(data, train)
    made.version(NEW)
    assert train.calls == [
        ("independent", None),
        ("beta", os.fspath(made.version(OLD))),
    ]


def test_what_is_trained_is_not_trained_again(data: Path) -> None:
    train = CountingTraining()
    first = versions(data, train).version(NEW)
    again = versions(data, train).version(NEW)
    assert again == first
    assert len(train.calls) == 2


def test_another_name_finds_the_same_version(data: Path) -> None:
    train = CountingTraining()
    made = versions(data, train)
    made.version(OLD)
    made.version(Training("first", OLD.recipe, OLD.part))
    assert len(train.calls) == 1


def test_other_pictures_are_trained_on_anew(data: Path) -> None:
    train = CountingTraining()
    versions(data, train).version(OLD)
    (data / "train-old.tfrecord").write_bytes(b"other pictures")
    versions(data, train).version(OLD)
    assert len(train.calls) == 2


def test_a_killed_training_is_trained_again(data: Path) -> None:
    def killed(recipe: Recipe, patterns: Any, directory: str, **_: Any) -> None:
        os.makedirs(directory)
        Path(directory, "saved_model.pb").write_bytes(b"half")
        raise Killed

    interrupted = versions(data, killed)
    with pytest.raises(Killed):
        interrupted.version(OLD)
    assert not interrupted.is_trained(OLD)

    made = versions(data, CountingTraining()).version(OLD)
    assert (made / "saved_model.pb").read_bytes() == b"whole"


def test_a_training_says_what_it_was(data: Path) -> None:
    made = versions(data, CountingTraining())
    made.version(NEW)
    described = (made.folder(NEW) / "training.json").read_text(encoding="utf-8")
    assert NEW.digest(made.data_digests) in described
    assert OLD.digest(made.data_digests) in described
