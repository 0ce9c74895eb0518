from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from keras_bct.data import ImageRecords, record_index, write_records
from keras_bct.data.record_index import RecordIndex

SHAPE = (8, 8, 3)


@pytest.fixture
def write(tmp_path, picture):
    def write(name, ids, compression=None, **images):
        records = ImageRecords(
            ids=np.array(ids),
            images=[images.get(i, picture(format="PNG")) for i in ids],
            labels=np.array([f"label of {i}" for i in ids]),
        )
        write_records(tmp_path / name, records, compression=compression)
        return str(tmp_path / name)

    return write


def test_each_picture_is_found_again(write, picture):
    red = picture((255, 0, 0))
    files = [write("b", ["b1", "b2"], b2=red), write("a", ["a1", "a2", "a3"])]
    index = RecordIndex.scan(files, image_shape=SHAPE)
    assert index.ids.tolist() == ["a1", "a2", "a3", "b1", "b2"]
    assert index.labels[4] == "label of b2"
    read = [tf.train.Example.FromString(e) for e in index.read(np.array([4, 0]))]
    values = [e.features.feature["id"].bytes_list.value[0] for e in read]
    assert values == [b"b2", b"a1"]
    assert read[0].features.feature["image"].bytes_list.value[0] == red


def test_threads_read_through_files_that_were_opened_once(write, monkeypatch):
    index = RecordIndex.scan(write("a", ["x", "y"]), image_shape=SHAPE)
    expected = index.read(np.array([1]))
    monkeypatch.setattr(
        record_index.io, "FileIO", lambda *_: pytest.fail("opened while it was read")
    )

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: index.read(np.array([1])), range(64)))

    assert found == [expected] * 64


def test_picture_of_another_size_is_named_before_training(write, picture):
    file = write("a", ["x", "y", "z"], y=picture(size=(9, 8)), z=b"junk")
    with pytest.raises(
        ValueError, match=r"2 others.*y \(of shape \(8, 9, 3\)\); z \(not a"
    ):
        RecordIndex.scan(file, image_shape=SHAPE)


def test_compressed_file_is_refused(write):
    file = write("a", ["x"], compression="GZIP")
    with pytest.raises(ValueError, match="without compression"):
        RecordIndex.scan(file, image_shape=SHAPE)


def test_one_id_for_two_pictures_is_refused(write):
    with pytest.raises(ValueError, match="'x'"):
        RecordIndex.scan([write("a", ["x"]), write("b", ["x"])], image_shape=SHAPE)


def test_file_that_is_cut_short_is_named(write, tmp_path):
    file = write("a", ["x", "y"])
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(content[:-5])
    with pytest.raises(ValueError, match=r"/a should hold .*after record 0"):
        RecordIndex.scan(file, image_shape=SHAPE)


def test_file_that_ends_in_the_head_of_a_record_is_no_shorter_set(write, tmp_path):
    file = write("a", ["x", "y"])
    content = (tmp_path / "a").read_bytes()
    for bytes_of_second in (1, 8, 11):
        (tmp_path / "a").write_bytes(content[: len(content) // 2 + bytes_of_second])
        with pytest.raises(ValueError, match=f"after 1 of them, {bytes_of_second} byt"):
            RecordIndex.scan(file, image_shape=SHAPE)


def test_records_without_a_label_are_refused(tmp_path, picture):
    with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        image, name = (
            tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
            for value in (picture(), b"x")
        )
        features = tf.train.Features(feature={"id": name, "image": image})
        writer.write(tf.train.Example(features=features).SerializeToString())
    with pytest.raises(ValueError, match=r"1 without, by id: 'x'"):
        RecordIndex.scan(str(tmp_path / "a"), image_shape=SHAPE)
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(ValueError, match="at least one picture"):
        RecordIndex.scan(str(tmp_path / "a"), image_shape=SHAPE)
