import gzip

import pytest
import tensorflow as tf

from keras_bct.tables import Columns, read_table

COLUMNS = Columns(names=("label",))


def example(**features):
    """A record: bytes, integers and lists of floats, each as its own kind."""

    def feature(value):
        values = value if isinstance(value, list) else [value]
        if values and isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        if values and isinstance(values[0], int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    named = {name: feature(value) for name, value in features.items()}
    features = tf.train.Features(feature=named)
    return tf.train.Example(features=features).SerializeToString()


@pytest.fixture
def write(tmp_path):
    def write(*records, name="set.tfrecord"):
        with tf.io.TFRecordWriter(str(tmp_path / name)) as writer:
            for record in records:
                writer.write(record)
        return tmp_path / name

    return write


def test_names_may_be_bytes_or_integers_and_labels_may_be_missing(write):
    path = write(
        example(id="漢".encode(), label=7, embedding=[1.0, 2.0], image=b"..."),
        example(id=8, label=b"x", embedding=[3.0, 4.0]),
        example(id=b"c", label=b"", embedding=[5.0, 6.0]),
        example(id=b"d", label=[], embedding=[5.0, 6.0]),
        example(id=b"e", embedding=[5.0, 6.0]),
    )
    table = read_table(path, COLUMNS)

    assert table["id"].tolist() == ["漢", "8", "c", "d", "e"]
    assert table["label"].tolist() == ["7", "x", "", "", ""]
    assert table["embedding"][:2].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": b""}, r"`id` .*none in row 1"),
        ({"id": []}, r"`id` .*none in row 1"),
        ({"id": b"\xff"}, r"`id` .*row 1"),
        ({"id": [b"b", b"c"]}, r"'id' should hold one value. Received 2 in record 1"),
        ({"label": 0.5}, r"`label` .*0\.5.*row 1"),
        ({"embedding": [1.0]}, r"2 floats in record 0 and 1 in record 1"),
        ({"embedding": []}, r"floats. Received bytes_list in record 1"),
        ({"embedding": [1, 2]}, r"floats. Received int64_list in record 1"),
    ],
)
def test_a_record_that_is_not_like_the_others_is_refused_by_number(
    write, change, message
):
    fine = {"id": b"b", "label": b"x", "embedding": [3.0, 4.0]}
    path = write(
        example(id=b"a", label=b"x", embedding=[1.0, 2.0]), example(**fine | change)
    )
    with pytest.raises(ValueError, match=rf"set\.tfrecord: .*{message}"):
        read_table(path, COLUMNS)


def test_a_record_without_a_vector_is_refused_by_number(write):
    path = write(example(id=b"a", embedding=[1.0]), example(id=b"b"))
    with pytest.raises(ValueError, match=r"floats. Received nothing in record 1"):
        read_table(path, Columns())


def test_features_that_no_record_has_are_named(write):
    path = write(example(id=b"a", name=b"x", embedding=[1.0]))
    with pytest.raises(ValueError, match=r"no 'label'; there are .*'name'"):
        read_table(path, COLUMNS)


def test_a_file_cut_short_is_refused_at_every_length(write):
    record = example(id=b"a", label=b"x", embedding=[1.0, 2.0])
    path = write(record, record)
    content = path.read_bytes()

    half = len(content) // 2
    for size in [*range(1, half, 7), *range(half + 1, len(content), 7)]:
        path.write_bytes(content[:size])
        after = size // half
        with pytest.raises(ValueError, match=rf"set\.tfrecord: .*after {after} of"):
            read_table(path, COLUMNS)


def test_a_packed_file_cut_short_is_refused(write, tmp_path):
    record = example(id=b"a", label=b"x", embedding=[1.0, 2.0])
    content = gzip.compress(write(record, record).read_bytes())
    path = tmp_path / "set.tfrecord.gz"

    for size in range(2, len(content), 11):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"set\.tfrecord\.gz: "):
            read_table(path, COLUMNS)


def test_a_file_of_no_records_is_refused(write):
    with pytest.raises(ValueError, match=r"at least one record"):
        read_table(write(), COLUMNS)


def test_records_of_something_else_are_refused(write):
    with pytest.raises(ValueError, match=r"tf\.train\.Example .* Record 0"):
        read_table(write(b"\xff\xff\xff\xff"), COLUMNS)


def test_a_shard_and_a_packed_file_are_read(write, tmp_path):
    record = example(id=b"a", embedding=[1.0])
    plain = write(record, name="set.TFRecord-00000-of-00001")
    packed = tmp_path / "set.tfrecord.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    for path in (plain, packed):
        assert read_table(path, Columns())["id"].tolist() == ["a"]
