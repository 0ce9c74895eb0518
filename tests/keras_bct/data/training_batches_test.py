import io
import itertools

import numpy as np
import pytest
from PIL import Image

from keras_bct.data import (
    Augmentation,
    ImageRecords,
    read_records,
    training_dataset,
    write_records,
)
from keras_bct.data.record_index import RecordIndex

LABELS = ["ka", "ki", "ku", "ka", "ki", "ku", "ka"]
NAMES = ("ka", "ki", "ko", "ku")
# Pictures of one colour stay so, and keep their number when it is rounded.
CHANGES = Augmentation(contrast=0, brightness=0.001)


def png(value):
    stream = io.BytesIO()
    Image.fromarray(np.full((4, 4), value, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def write(path, labels, first=0, **changes):
    """Writes pictures whose pixels all have the picture's number."""
    numbers = range(first, first + len(labels))
    columns = {
        "ids": np.array([f"id-{n}" for n in numbers]),
        "images": [png(n) for n in numbers],
        "labels": np.array(labels),
    }
    write_records(path, ImageRecords(**{**columns, **changes}))
    return path


@pytest.fixture
def seven(tmp_path):
    return write(tmp_path / "seven.tfrecord", LABELS)


def batches(file, count, **arguments):
    defaults = {
        "class_names": NAMES,
        "image_shape": (4, 4, 1),
        "batch_size": 3,
        "seed": 0,
        "augmentation": None,
    }
    dataset = training_dataset(file, **{**defaults, **arguments})
    return list(itertools.islice(dataset.as_numpy_iterator(), count))


def numbers(taken):
    return [round(picture[0, 0, 0]) for images, _ in taken for picture in images]


def test_batches_are_full_and_never_end(seven):
    taken = batches(seven, 20)
    assert all(images.shape == (3, 4, 4, 1) for images, _ in taken)
    assert all(images.dtype == np.float32 for images, _ in taken)
    assert all(labels["new"].dtype == np.int32 for _, labels in taken)


def test_keras_is_told_that_there_is_no_end(seven):
    dataset = training_dataset(
        seven, class_names=NAMES, image_shape=(4, 4, 1), batch_size=3, seed=0
    )
    assert int(dataset.cardinality()) == -1


def test_every_epoch_has_every_picture_once_in_its_own_order(seven):
    order = numbers(batches(seven, 14))
    epochs = [tuple(order[start : start + 7]) for start in range(0, 42, 7)]
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs)
    assert len(set(epochs)) > 1


def test_labels_are_the_rows_of_the_classifiers_by_name(seven):
    old_names = ("ku", "ka")
    for images, labels in batches(seven, 5, old_class_names=old_names):
        for picture, new, old in zip(images, labels["new"], labels["old"], strict=True):
            label = LABELS[int(picture[0, 0, 0])]
            assert NAMES[new] == label
            assert old == {"ku": 0, "ka": 1, "ki": -1}[label]


def test_several_old_classifiers_have_labels_of_their_own(seven):
    old_names = {"old": ("ku", "ka"), "older": ("ki",)}
    for images, labels in batches(seven, 5, old_class_names=old_names):
        names = [LABELS[round(picture[0, 0, 0])] for picture in images]
        assert set(labels) == {"new", "old", "older"}
        assert [NAMES[row] for row in labels["new"]] == names
        rows = {"ku": 0, "ka": 1}
        assert labels["old"].tolist() == [rows.get(name, -1) for name in names]
        assert labels["older"].tolist() == [0 if n == "ki" else -1 for n in names]
        assert labels["older"].dtype == np.int32


def test_old_labels_may_not_hide_the_new_ones(seven):
    with pytest.raises(ValueError, match=r"`old_class_names` should not name.*'new'"):
        batches(seven, 1, old_class_names={"new": ("ka", "ki")})


def test_class_named_twice_by_one_of_several_is_refused(seven):
    with pytest.raises(ValueError, match=r"`old_class_names`.*'ki'"):
        batches(seven, 1, old_class_names={"a": ("ka",), "b": ("ki", "ki")})


def test_without_predecessor_there_is_no_old_label(seven):
    ((_, labels),) = batches(seven, 1)
    assert set(labels) == {"new"}


def test_same_seed_gives_the_same_batches(seven):
    one, again, other = (
        batches(seven, 4, seed=seed, augmentation=CHANGES) for seed in (5, 5, 6)
    )
    for (a, _), (b, _) in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert numbers(one) != numbers(other)


def test_same_dataset_iterated_again_begins_again(seven):
    dataset = training_dataset(
        seven, class_names=NAMES, image_shape=(4, 4, 1), batch_size=3, seed=0
    )
    first, again = next(iter(dataset)), next(iter(dataset))
    np.testing.assert_array_equal(first[0], again[0])


def test_training_resumes_where_it_stopped(seven):
    whole = batches(seven, 6, augmentation=CHANGES)
    resumed = batches(seven, 2, augmentation=CHANGES, first_step=4)
    for (a, _), (b, _) in zip(whole[4:], resumed, strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_epoch_is_augmented_anew(seven):
    pictures = [
        picture.tobytes()
        for images, _ in batches(seven, 7, augmentation=CHANGES)
        for picture in images
    ]
    assert len(set(pictures)) == 21


def test_several_files_are_one_training_set(tmp_path):
    files = [
        write(tmp_path / "a.tfrecord", LABELS[:3]),
        write(tmp_path / "b.tfrecord", LABELS[3:6], first=3),
    ]
    assert sorted(numbers(batches(files, 2))) == list(range(6))


def test_one_class_is_refused(tmp_path):
    file = write(tmp_path / "one", ["ka", "ka"])
    with pytest.raises(ValueError, match=r"at least two classes.*'ka'"):
        batches(file, 1)


def test_label_outside_the_head_is_refused_with_its_picture(seven):
    with pytest.raises(ValueError, match="'ku' of the picture 'id-2'"):
        batches(seven, 1, class_names=("ka", "ki"))


def test_unreadable_picture_is_named_by_id(tmp_path):
    file = write(tmp_path / "bad", ["ka", "ki"], images=[png(0), b"junk"])
    with pytest.raises(ValueError, match="id-1"):
        batches(file, 1)


def test_class_named_twice_is_refused(seven):
    with pytest.raises(ValueError, match=r"`old_class_names`.*'ka'"):
        batches(seven, 1, old_class_names=("ka", "ki", "ka"))


def test_batch_of_nothing_is_refused(seven):
    with pytest.raises(ValueError, match="`batch_size`"):
        batches(seven, 1, batch_size=0)


@pytest.mark.parametrize("pictures_per_class", [None, 1])
def test_pictures_that_stay_on_disk_make_the_same_batches(tmp_path, pictures_per_class):
    files = [
        write(tmp_path / "a.tfrecord", LABELS[:4]),
        write(tmp_path / "b.tfrecord", LABELS[4:], first=4),
    ]
    arguments = {
        "augmentation": CHANGES,
        "old_class_names": ("ku",),
        "pictures_per_class": pictures_per_class,
    }
    memory = batches(files, 9, **arguments)
    disk = batches(files, 9, in_memory=False, **arguments)
    for (a, one), (b, other) in zip(memory, disk, strict=True):
        np.testing.assert_array_equal(a, b)
        for key in ("new", "old"):
            np.testing.assert_array_equal(one[key], other[key])


def test_records_that_were_read_already_make_the_batches_of_their_files(seven):
    index = RecordIndex.scan(seven, image_shape=(4, 4, 1))
    for records in (read_records(seven), index):
        for (images, labels), (others, other_labels) in zip(
            batches(records, 4), batches(seven, 4), strict=True
        ):
            np.testing.assert_array_equal(images, others)
            np.testing.assert_array_equal(labels["new"], other_labels["new"])


def test_training_from_disk_resumes_where_it_stopped(seven):
    whole = batches(seven, 6, augmentation=CHANGES, in_memory=False)
    resumed = batches(seven, 2, augmentation=CHANGES, in_memory=False, first_step=4)
    for (a, _), (b, _) in zip(whole[4:], resumed, strict=True):
        np.testing.assert_array_equal(a, b)


def test_training_from_disk_has_no_end_and_full_batches(seven):
    dataset = training_dataset(
        seven,
        class_names=NAMES,
        image_shape=(4, 4, 1),
        batch_size=3,
        seed=0,
        in_memory=False,
    )
    assert int(dataset.cardinality()) == -1
    assert dataset.element_spec[0].shape == (3, 4, 4, 1)


def test_balanced_batches_have_as_many_of_each_class(seven):
    # Of ka, ki and ku there are 3, 2 and 2 pictures.
    for _, labels in batches(seven, 8, batch_size=4, pictures_per_class=2):
        classes, counts = np.unique(labels["new"], return_counts=True)
        assert len(classes) == 2 and counts.tolist() == [2, 2]


def test_augmentation_may_be_layers(seven):
    from keras_bct.data import ColourDistortion, Misalignment, stateless

    layers = stateless(Misalignment(), ColourDistortion(brightness=0.5))
    ((plain, _),) = batches(seven, 1)
    ((one, _),) = batches(seven, 1, augmentation=layers)
    ((again, _),) = batches(seven, 1, augmentation=layers)
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - plain).max() > 1


def test_class_names_in_bytes_give_the_same_labels(seven):
    def labels(names, old):
        taken = batches(seven, 3, class_names=names, old_class_names=old)
        return [(each["new"].tolist(), each["old"].tolist()) for _, each in taken]

    as_bytes = [name.encode() for name in NAMES]
    assert labels(NAMES, ("ku", "ka")) == labels(as_bytes, np.array([b"ku", b"ka"]))


def test_records_in_bytes_are_read_back_as_text(tmp_path):
    file = write(
        tmp_path / "bytes.tfrecord",
        [b"ka", "亜".encode()],
        ids=np.array([b"1", b"2"]),
        cameras=np.array(["é".encode(), b"b"], object),
    )
    records = read_records(file)
    assert records.ids.tolist() == ["1", "2"]
    assert records.labels.tolist() == ["ka", "亜"]
    assert records.cameras.tolist() == ["é", "b"]


def test_an_old_classifier_that_knows_no_class_of_the_pictures_is_refused(seven):
    with pytest.raises(ValueError, match=r"no name in common.*'ka'.*'KA'.*synthesize"):
        batches(seven, 1, old_class_names=("KA", "KI"))
    with pytest.raises(ValueError, match=r"no name in common"):
        batches(seven, 1, old_class_names={"one": ("ka",), "two": ("b'ka'",)})


@pytest.mark.parametrize("missing", [None, "", b""])
def test_an_unlabelled_picture_does_not_train(seven, missing):
    records = read_records(seven)
    labels = [missing, *records.labels.tolist()[1:]]
    unlabelled = ImageRecords(records.ids, records.images, labels)
    with pytest.raises(ValueError, match=r"label to be trained on.*'id-0'"):
        batches(unlabelled, 1)
