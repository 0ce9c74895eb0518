"""The digest of a training: all that its version depends on, and nothing else."""

import dataclasses
import hashlib

import pytest

from keras_bct.experiments import Catalogue, Recipe, Training
from keras_bct.training import CriterionSettings, DataSettings, OptimizerSettings

DATA = {"train": "aa", "train-old": "bb"}
OLD = Training("old", Recipe("independent", 12, 1200), "train-old")
NEW = Training("beta", Recipe("beta", 20, 1500), "train", OLD)

ANOTHER_VALUE = {
    "method": "l2",
    "width": 21,
    "steps": 1501,
    "backbone": "deep-glyph",
    "embedding_size": 65,
    "relu": True,
    "size_map": True,
    "batch_size": 129,
    "learning_rate": 1e-3,
    "loss": "arcface",
    "scale": 25.0,
    "margin": 0.4,
    "influence_weight": 2.0,
    "distillation_weight": 2.0,
    "temperature": 2.0,
    "old_rows": "means",
    "seed": 1,
    "image_shape": (32, 32, 3),
    "epochs": 12,
    "interval_steps": 100,
    "optimizer": OptimizerSettings("sgd"),
    "label_smoothing": 0.1,
    "augmentation": ("plain", "flip"),
    "pictures_per_class": 4,
    "precision": "mixed_bfloat16",
    "strategy": "mirrored",
    "deterministic": True,
    "data": DataSettings("train.tfrecord"),
    "predecessor": "phi1",
    "criterion": CriterionSettings("kanji-validation.yaml"),
}


def changed(training: Training, field: str) -> Training:
    """The training with another value of a field of its recipe."""
    fields = {field: ANOTHER_VALUE[field]}
    if field == "epochs":
        fields["steps"] = None
    return dataclasses.replace(
        training, recipe=dataclasses.replace(training.recipe, **fields)
    )


def test_every_field_is_tried() -> None:
    assert set(ANOTHER_VALUE) == {field.name for field in dataclasses.fields(Recipe)}


@pytest.mark.parametrize("field", ANOTHER_VALUE)
def test_another_value_of_a_field_is_another_training(field: str) -> None:
    assert changed(NEW, field).digest(DATA) != NEW.digest(DATA)


# Any other method asks for a predecessor of the predecessor, as a criterion does.
@pytest.mark.parametrize("field", sorted(set(ANOTHER_VALUE) - {"method", "criterion"}))
def test_another_predecessor_is_another_training(field: str) -> None:
    follower = dataclasses.replace(NEW, predecessor=changed(OLD, field))
    assert follower.digest(DATA) != NEW.digest(DATA)


def test_other_pictures_are_another_training() -> None:
    assert NEW.digest({**DATA, "train": "cc"}) != NEW.digest(DATA)


def test_other_pictures_of_the_predecessor_are_another_training() -> None:
    assert NEW.digest({**DATA, "train-old": "cc"}) != NEW.digest(DATA)


def test_a_name_is_no_part_of_it() -> None:
    assert dataclasses.replace(NEW, name="new").digest(DATA) == NEW.digest(DATA)


def test_other_parts_are_no_part_of_it() -> None:
    assert NEW.digest({**DATA, "test-queries": "dd"}) == NEW.digest(DATA)


def test_it_is_sha256_of_the_canonical_json() -> None:
    # What makes a cached training the same one in the next process.
    recipe = (
        '"backbone": "glyph", "batch_size": 128, "distillation_weight": 1.0, '
        '"embedding_size": 64, "image_shape": [32, 32, 1], "influence_weight": 1.0, '
        '"learning_rate": 0.002, "loss": "cosface", "margin": 0.3, '
        '"method": "independent", "old_rows": "trained", "relu": false, '
        '"scale": 24.0, "seed": 0, "size_map": false, "steps": 1200, '
        '"temperature": 1.0, "width": 12'
    )
    canonical = f'{{"data": "bb", "predecessor": null, "recipe": {{{recipe}}}}}'
    assert OLD.digest(DATA) == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    ("training", "digest"),
    [
        (
            Catalogue(0).old(),
            "f3dce6323bb8a85cc1736caca0a890dcb3835be99266a81a8621edd1fe1c2ffd",
        ),
        (
            Catalogue(0).new("beta"),
            "3cd74a610772ccfbb7ad5c510d0ede1a78dd34c9df6a7b66def5e964f8f83a15",
        ),
        (
            Catalogue(0).deep("deep"),
            "44c1f3301909a5f71435f24a883e658e3ddea0a500d7c3d57d6de62d66d89943",
        ),
    ],
    ids=("old", "beta", "deep"),
)
def test_trainings_that_are_kept_are_found_again(
    training: Training, digest: str
) -> None:
    # Written down before recipes had the fields after `image_shape`. Where one of
    # these changes, every training in out/experiments is done anew.
    assert training.digest({"train": "a", "train-old": "b"}) == digest


def test_a_method_that_follows_needs_a_predecessor() -> None:
    with pytest.raises(ValueError, match="`predecessor` should be None"):
        Training("beta", Recipe("beta", 20, 1500), "train")


def test_independent_follows_nothing() -> None:
    with pytest.raises(ValueError, match="`predecessor` should be None"):
        Training("old", Recipe("independent", 20, 1500), "train", OLD)
