"""An identity is of what a training depends on, wherever that lies."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_bct.data import read_records, write_records
from keras_bct.training import CriterionSettings, DataSettings
from keras_bct.training.identity import differences, identity
from keras_bct.training.pictures import TrainingPictures


def identity_of(place: Any, *, in_memory: bool = True, **fields: Any) -> Any:
    """That of the conftest's successor, with every file in the folder of `place`."""
    recipe = place.recipe(
        data=DataSettings(place.pictures, in_memory=in_memory),
        predecessor=place.version,
        criterion=CriterionSettings(place.protocol, patience=3),
        **fields,
    )
    pictures = TrainingPictures(recipe, [place.pictures])
    return identity(recipe, pictures, place.version)


@pytest.fixture
def copy(place: Any, tmp_path: Path) -> Any:
    """Everything once more, in another folder."""
    shutil.copytree(place.directory, tmp_path / "copy")
    return dataclasses.replace(place, directory=tmp_path / "copy")


@pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "disk"])
def test_where_things_lie_and_how_they_are_read_does_not_matter(
    in_memory: bool, place: Any, copy: Any
) -> None:
    assert identity_of(copy, in_memory=in_memory) == identity_of(place)


def exchange_two_pictures(place: Any) -> None:
    """Ids, labels and the size of the file stay."""
    records = read_records(place.pictures)
    records.images[0], records.images[-1] = records.images[-1], records.images[0]
    write_records(place.pictures, records)


def change_the_predecessor(place: Any) -> None:
    weights = Path(place.version, "variables", "variables.data-00000-of-00001")
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)


def change_the_protocol(place: Any) -> None:
    protocol = Path(place.protocol)
    text = protocol.read_text(encoding="utf-8").replace("[retrieval/mAP]", "[]")
    protocol.write_text(text + "distance: l2\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (exchange_two_pictures, {"pictures (SHA-256)", "criterion"}),
        (change_the_predecessor, {"predecessor (SHA-256)"}),
        (change_the_protocol, {"criterion"}),
    ],
)
@pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "disk"])
def test_other_content_in_the_same_place_is_another_training(
    change: Callable[[Any], None], changed: set[str], in_memory: bool, copy: Any
) -> None:
    before = identity_of(copy, in_memory=in_memory)
    change(copy)
    after = identity_of(copy, in_memory=in_memory)
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_field_of_the_recipe_is_part_of_it(place: Any) -> None:
    one, other = identity_of(place), identity_of(place, width=3)
    assert differences(one, one) == ""
    assert differences(one, other) == "`width` was 2 and is 3"


def test_a_predecessor_is_of_no_matter_to_a_training_that_follows_none(
    place: Any,
) -> None:
    recipe = place.recipe(method="independent")
    pictures = TrainingPictures(recipe, [place.pictures])
    assert identity(recipe, pictures, place.version) == identity(recipe, pictures, None)
