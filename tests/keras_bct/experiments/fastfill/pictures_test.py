"""No test picture is trained on or chosen by, and the settings are what they say."""

import numpy as np
import pytest

from keras_bct.data import glyphs, read_records
from keras_bct.data.kanji_split import load_split
from keras_bct.experiments.fastfill import pictures

EVERY = (*pictures.TRAINING_PARTS, *pictures.TEST_PARTS, *pictures.VALIDATION_PARTS)


@pytest.fixture(scope="module")
def parts():
    kanji = glyphs.load()
    return {part: pictures.choice(part, kanji) for part in EVERY}


@pytest.mark.parametrize("part", pictures.MAP_PARTS)
def test_maps_are_fitted_to_pictures_of_a_training_part(part):
    assert part.removesuffix("-and-copies") in pictures.TRAINING_PARTS


def classes(part):
    return set(part[0])


def faces(part):
    return set(part[1])


@pytest.mark.parametrize("training", pictures.TRAINING_PARTS)
@pytest.mark.parametrize("test", (*pictures.TEST_PARTS, *pictures.VALIDATION_PARTS))
def test_no_typeface_of_a_test_is_trained_on(parts, training, test):
    assert not faces(parts[training]) & faces(parts[test])


@pytest.mark.parametrize("validation", pictures.VALIDATION_PARTS)
@pytest.mark.parametrize("test", pictures.TEST_PARTS)
def test_choices_are_made_on_no_picture_of_a_test(parts, validation, test):
    same_classes = classes(parts[validation]) & classes(parts[test])
    same_faces = faces(parts[validation]) & faces(parts[test])
    assert not (same_classes and same_faces)


def test_seen_classes_are_the_new_models_and_unseen_ones_nobodys(parts):
    assert classes(parts["seen"]) == classes(parts["new"])
    trained = set().union(*(classes(parts[part]) for part in pictures.TRAINING_PARTS))
    assert not trained & classes(parts["unseen"])


def test_disjoint_classes_are(parts):
    assert not classes(parts["old"]) & classes(parts["disjoint-new"])
    assert classes(parts["disjoint-seen"]) == classes(parts["disjoint-new"])


def test_biased_model_has_ten_times_as_many_of_one_group(parts):
    trained = tuple(sorted(classes(parts["biased-old"])))
    group = pictures.groups(trained, glyphs.load())
    names, counts = np.unique(group, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        pictures.DENSE: 30,
        pictures.LIGHT: 300,
    }


def test_new_model_is_balanced():
    group = pictures.groups(load_split().train, glyphs.load())
    assert (group == pictures.DENSE).sum() == (group == pictures.LIGHT).sum() == 300


def test_files_that_are_there_stay(tmp_path):
    for part in (*EVERY, *pictures.MAP_PARTS):
        (tmp_path / f"{part}.tfrecord").write_bytes(b"there already")
    pictures.prepare(tmp_path)
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"there already"}


def test_what_is_missing_is_written_whole(tmp_path):
    for part in (*EVERY[1:], *pictures.MAP_PARTS):
        (tmp_path / f"{part}.tfrecord").touch()
    pictures.prepare(tmp_path)
    records = read_records(str(tmp_path / f"{EVERY[0]}.tfrecord"), camera="camera")
    assert len(records) == 150 * 19
    written = {path.stem for path in tmp_path.iterdir()}
    assert written == {*EVERY, *pictures.MAP_PARTS}
