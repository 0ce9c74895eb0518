"""Pictures in memory and on disk are the same to a training."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from keras_bct.data import ImageRecords, training_dataset, write_records
from keras_bct.training.pictures import TrainingPictures
from keras_bct.training.recipe import Recipe
from keras_bct.training.settings import DataSettings

NAMES = ["写真", "Ünïcödé", "שלום", "\U0001f408", "a\u2028b"]
IN_MEMORY = pytest.mark.parametrize("in_memory", [True, False])


def picture(size: tuple[int, int] = (4, 4), form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("L", size, 90).save(stream, form)
    return stream.getvalue()


def read(folder: Path, in_memory: bool, **columns: Any) -> TrainingPictures:
    """Write five pictures, some columns changed, and read them for training."""
    given = {"ids": NAMES, "images": [picture()] * 5, "labels": NAMES} | columns
    write_records(folder / "写[1].tfrecord", ImageRecords(**given))
    settings = DataSettings(str(folder / "写[1].tfrecord"), in_memory=in_memory)
    recipe = Recipe("independent", 2, 10, image_shape=(4, 4, 1), data=settings)
    pictures = TrainingPictures(recipe, settings.patterns)
    training_dataset(
        pictures.records,
        class_names=pictures.class_names,
        image_shape=recipe.image_shape,
        batch_size=2,
        seed=0,
    )
    return pictures


def test_names_outside_latin_1_are_the_same_in_memory_and_on_disk(
    tmp_path: Path,
) -> None:
    in_memory, on_disk = (read(tmp_path, kept) for kept in (True, False))
    assert in_memory.ids.tolist() == on_disk.ids.tolist() == NAMES
    assert in_memory.class_names == on_disk.class_names == tuple(sorted(NAMES))
    assert in_memory.digest() == on_disk.digest()
    rows = np.array([4, 0])
    np.testing.assert_array_equal(in_memory.decoded(rows), on_disk.decoded(rows))


@IN_MEMORY
@pytest.mark.parametrize(
    "wrong", [picture((4, 5)), picture()[:-20], picture(form="WEBP"), b"junk"]
)
def test_a_wrong_picture_is_named_by_id_before_the_first_step(
    wrong: bytes, in_memory: bool, tmp_path: Path
) -> None:
    images = [picture(), wrong, *[picture()] * 3]
    with pytest.raises(ValueError, match=r"Received 1 other, by id: Ünïcödé \("):
        read(tmp_path, in_memory, images=images)


@IN_MEMORY
def test_a_picture_without_a_label_is_named_before_the_first_step(
    in_memory: bool, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="3 without, by id: 'Ünïcödé', 'שלום', 'a"):
        read(tmp_path, in_memory, labels=["a", None, "", b"b", float("nan")])
