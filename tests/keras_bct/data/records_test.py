import gzip

import numpy as np
import pytest
import tensorflow as tf

from keras_bct.data import ImageRecords, read_records, write_records


def records(prefix="", cameras=True):
    return ImageRecords(
        ids=np.array([f"{prefix}1", f"{prefix}2"]),
        images=[b"first", b"second"],
        labels=np.array(["亜", "腕"]),
        cameras=np.array(["brush", "pen"]) if cameras else None,
    )


def write_features(path, *rows):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            features = {
                name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
                if isinstance(value, bytes)
                else tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
                for name, value in row.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def test_written_records_are_read_as_they_were(tmp_path):
    write_records(tmp_path / "a.tfrecord", records())
    read = read_records(tmp_path / "a.tfrecord")
    assert read.ids.tolist() == ["1", "2"]
    assert read.images == [b"first", b"second"]
    assert read.labels.tolist() == ["亜", "腕"]
    assert read.cameras.tolist() == ["brush", "pen"]


def test_records_without_cameras_stay_without(tmp_path):
    write_records(tmp_path / "a.tfrecord", records(cameras=False))
    assert read_records(tmp_path / "a.tfrecord").cameras is None


@pytest.mark.parametrize("bytes_of_second", [1, 8, 11])
def test_a_file_that_ends_in_the_head_of_a_record_is_no_shorter_set(
    tmp_path, bytes_of_second
):
    same = {"id": b"1", "image": b"...", "label": b"a"}
    write_features(tmp_path / "a", same, {**same, "id": b"2"})
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(content[: len(content) // 2 + bytes_of_second])
    with pytest.raises(ValueError, match=f"a: .*after 1 of them, {bytes_of_second} by"):
        read_records(tmp_path / "a")


@pytest.mark.parametrize("missing", [1, 9, 40])
def test_a_packed_file_cut_short_is_no_shorter_set(tmp_path, missing):
    write_records(tmp_path / "a", records(), compression="GZIP")
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(content[:-missing])
    with pytest.raises(ValueError, match="/a"):
        read_records(tmp_path / "a")


def test_gzip_shards_are_recognised(tmp_path):
    write_records(tmp_path / "a.gz", records(), compression="GZIP")
    assert gzip.open(tmp_path / "a.gz").read(1)
    assert len(read_records(tmp_path / "a.gz")) == 2
    assert len(read_records(tmp_path / "a.gz", compression="GZIP")) == 2


def test_several_patterns_are_read_in_the_order_of_the_names(tmp_path):
    write_records(tmp_path / "b.tfrecord", records("b"))
    write_records(tmp_path / "a-1.tfrecord", records("a1-"))
    write_records(tmp_path / "a-0.tfrecord", records("a0-"), compression="GZIP")
    read = read_records([str(tmp_path / "b.tfrecord"), str(tmp_path / "a-*")])
    assert read.ids.tolist() == ["a0-1", "a0-2", "a1-1", "a1-2", "b1", "b2"]


def test_features_may_have_other_names(tmp_path):
    row = {"name": b"x", "picture": b"...", "char": b"y", "typeface": b"z"}
    write_features(tmp_path / "a", row)
    read = read_records(
        tmp_path / "a", id="name", image="picture", label="char", camera="typeface"
    )
    assert (read.ids[0], read.labels[0], read.cameras[0]) == ("x", "y", "z")


def test_pattern_that_matches_nothing_is_named(tmp_path):
    write_records(tmp_path / "a.tfrecord", records())
    with pytest.raises(FileNotFoundError, match=r"No file matches .*b-\*"):
        read_records([str(tmp_path / "a*"), str(tmp_path / "b-*")])


def test_files_without_records_are_refused(tmp_path):
    write_features(tmp_path / "empty")
    with pytest.raises(ValueError, match="at least one picture"):
        read_records(tmp_path / "empty")


@pytest.mark.parametrize("feature", ["id", "image"])
def test_missing_feature_is_named_with_file_and_record(tmp_path, feature):
    complete = {"id": b"x", "image": b"...", "label": b"y"}
    lacking = {"id": b"z", "image": b"..."}
    del lacking[feature]
    write_features(tmp_path / "a", complete, lacking)
    with pytest.raises(ValueError, match=rf"/a.*`{feature}`.*1"):
        read_records(tmp_path / "a")


def test_label_or_camera_that_only_some_have_is_missing_for_the_others(tmp_path):
    first = {"id": b"x", "image": b"...", "label": b"y", "camera": b"c"}
    write_features(tmp_path / "a", first, {"id": b"z", "image": b"..."})
    read = read_records(tmp_path / "a")
    assert read.labels.tolist() == ["y", ""]
    assert read.cameras.tolist() == ["c", ""]
    write_records(tmp_path / "again", read)
    again = read_records(tmp_path / "again")
    assert again.labels.tolist() == ["y", ""]
    assert again.cameras.tolist() == ["c", ""]


def test_templates_and_media_are_read_when_they_are_named(tmp_path):
    row = {"id": b"x", "image": b"...", "label": b"y", "template": b"7", "video": b"v"}
    write_features(tmp_path / "a", row)
    read = read_records(tmp_path / "a", template="template", medium="video")
    assert (read.templates[0], read.media[0], read.cameras) == ("7", "v", None)
    assert read_records(tmp_path / "a").templates is None


def test_template_that_only_some_have_is_missing_for_the_others(tmp_path):
    row = {"id": b"x", "image": b"...", "label": b"y"}
    write_features(tmp_path / "a", row | {"template": b"7"}, row | {"id": b"z"})
    read = read_records(tmp_path / "a", template="template")
    assert read.templates.tolist() == ["7", ""]


NAMES = ["写真", "Ünïcödé", "שלום", "\U0001f408", "a\u2028b", "e\u0301", "\u3000x "]


def test_names_outside_latin_1_are_read_as_they_were_written(tmp_path):
    written = ImageRecords(
        ids=np.array(NAMES),
        images=[b"..."] * len(NAMES),
        labels=np.array(NAMES[::-1]),
        cameras=np.array(NAMES),
    )
    write_records(tmp_path / "写.tfrecord", written)
    read = read_records(tmp_path / "写*.tfrecord")
    assert read.ids.tolist() == NAMES
    assert read.labels.tolist() == NAMES[::-1]
    assert read.cameras.tolist() == NAMES


def test_names_in_another_encoding_are_refused_with_file_and_record(tmp_path):
    row = {"image": b"...", "label": b"y"}
    latin = {"id": "Müller".encode("latin-1")}
    write_features(tmp_path / "a", row | {"id": b"x"}, row | latin)
    with pytest.raises(ValueError, match=r"/a: `id` .*UTF-8.*row 1 "):
        read_records(tmp_path / "a")


def test_names_as_bytes_are_text():
    read = ImageRecords([b"x"], [b"..."], np.array(["ä".encode()]), cameras=[None])
    assert (read.ids[0], read.labels[0], read.cameras[0]) == ("x", "ä", "")


def test_numbered_labels_are_refused(tmp_path):
    write_features(tmp_path / "a", {"id": b"x", "image": b"...", "label": 7})
    with pytest.raises(ValueError, match="one byte string each"):
        read_records(tmp_path / "a")


def test_file_of_another_format_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"not a TFRecord file, but long enough to be one")
    with pytest.raises(ValueError, match=r"tf\.train\.Example"):
        read_records(tmp_path / "a")


def test_one_id_for_two_pictures_is_refused(tmp_path):
    write_records(tmp_path / "a", records())
    write_records(tmp_path / "b", records())
    with pytest.raises(ValueError, match=r"`ids`.*'1', '2'"):
        read_records([tmp_path / "a", tmp_path / "b"])


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        ImageRecords(np.array(["1"]), [], np.array(["a"]))


def test_file_in_a_folder_with_brackets_is_found(tmp_path):
    folder = tmp_path / "run[1]"
    folder.mkdir()
    write_records(folder / "t.tfrecord", records())
    assert len(read_records(folder / "t.tfrecord")) == len(records())
    assert len(read_records(folder / "t*.tfrecord")) == len(records())


def test_a_write_that_fails_leaves_the_older_file(tmp_path):
    path = tmp_path / "one.tfrecord"
    write_records(path, records())
    before = path.read_bytes()
    broken = records("other-")
    broken.images[1] = None
    with pytest.raises(TypeError):
        write_records(path, broken)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
