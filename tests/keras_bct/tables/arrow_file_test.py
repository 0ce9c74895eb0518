"""A hostile file runs no code, and what PyArrow overlooks is found."""

import os
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keras_bct.tables import Columns, read_table
from keras_bct.tables.arrow_file import map_arrow


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (os.mkdir, (self.path,))


@pytest.fixture
def hostile(tmp_path):
    """A table whose column is said to be of a type to be unpickled."""
    made = tmp_path / "code-ran"
    field = pa.field(
        "id",
        pa.string(),
        metadata={
            "ARROW:extension:name": "arrow.py_extension_type",
            "ARROW:extension:metadata": pickle.dumps(Hostile(made)),
        },
    )
    schema = pa.schema([field, pa.field("embedding", pa.list_(pa.float32()))])
    table = pa.table(
        [pa.array(["a"]), pa.array([[1.0]], pa.list_(pa.float32()))], schema
    )
    return table, made


def refused_or_plain(read):
    """Older releases refuse the type, newer ones read what lies under it."""
    try:
        read()
    except ValueError as error:
        assert "arrow.py_extension_type" in str(error)


@pytest.mark.parametrize("open_writer", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.filterwarnings("ignore:pickle-based deserialization")
@pytest.mark.filterwarnings("ignore:pyarrow.PyExtensionType is deprecated")
def test_an_arrow_file_that_carries_a_pickle_runs_nothing(
    hostile, tmp_path, open_writer
):
    table, made = hostile
    path = tmp_path / "set.arrow"
    with pa.OSFile(str(path), "wb") as sink:
        with open_writer(sink, table.schema) as writer:
            writer.write_table(table)

    refused_or_plain(lambda: read_table(path, Columns()))
    refused_or_plain(lambda: map_arrow(path))
    assert not made.exists()


@pytest.mark.filterwarnings("ignore:pickle-based deserialization")
@pytest.mark.filterwarnings("ignore:pyarrow.PyExtensionType is deprecated")
def test_a_parquet_file_that_carries_a_pickle_runs_nothing(hostile, tmp_path):
    table, made = hostile
    path = tmp_path / "set.parquet"
    pq.write_table(table, path)

    refused_or_plain(lambda: read_table(path, Columns()))
    assert not made.exists()


def test_text_that_reaches_beyond_its_buffer_is_refused(tmp_path):
    table = pa.table({"id": ["abc", "def"], "embedding": [[1.0], [2.0]]})
    path = tmp_path / "set.arrow"
    with pa.OSFile(str(path), "wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    content = path.read_bytes()
    offsets = bytes(4) + (3).to_bytes(4, "little") + (6).to_bytes(4, "little")
    assert content.count(offsets) == 1
    beyond = bytes(4) + (3).to_bytes(4, "little") + (2**30).to_bytes(4, "little")
    path.write_bytes(content.replace(offsets, beyond))

    with pytest.raises(ValueError, match=r"set\.arrow: "):
        read_table(path, Columns())


def test_a_stream_that_breaks_off_between_batches_is_refused(tmp_path):
    table = pa.table({"id": ["a", "b"], "embedding": [[1.0], [2.0]]})
    path = tmp_path / "set.arrow"
    with pa.OSFile(str(path), "wb") as sink:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
    whole = path.read_bytes()
    # Without the mark of its end it is one that its writer did not finish.
    path.write_bytes(whole[:-8])

    with pytest.raises(ValueError, match="end of a stream"):
        read_table(path, Columns())
