"""What holds for every format, and what damaged and foreign files are told."""

import uuid
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keras_bct.tables import Columns, read_table

IDS = ["漢字", "🙂", "a\u2028b", "NA"]
LABELS = ["1", None, "", "None"]
ROWS = np.arange(8, dtype=np.float32).reshape(4, 2)
COLUMNS = Columns(names=("label",))


def write_npz(path, ids, labels, rows):
    # Given a path, NumPy adds the ending in its own case.
    with open(path, "wb") as file:
        np.savez(
            file,
            id=np.array(ids, str),
            label=np.array([label or "" for label in labels]),
            embedding=rows,
        )


def write_npy(path, ids, labels, rows):
    np.save(path, rows)
    lines = [f'"{i}",{label or ""}\r\n' for i, label in zip(ids, labels, strict=True)]
    path.with_suffix(".csv").write_text(
        "id,label\r\n" + "".join(lines), encoding="utf-8", newline=""
    )


def table_of(ids, labels, rows):
    return pa.table({"id": ids, "label": labels, "embedding": rows.tolist()})


def write_parquet(path, ids, labels, rows):
    pq.write_table(table_of(ids, labels, rows), path)


def write_arrow(path, ids, labels, rows):
    table = table_of(ids, labels, rows)
    with pa.OSFile(str(path), "wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


def write_stream(path, ids, labels, rows):
    table = table_of(ids, labels, rows)
    with pa.OSFile(str(path), "wb") as sink:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)


WRITERS = {
    "set.npz": write_npz,
    "set.NPZ": write_npz,
    "set.npy": write_npy,
    "set.parquet": write_parquet,
    "set.PARQUET": write_parquet,
    "set.arrow": write_arrow,
    "stream.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(tmp_path, name):
    WRITERS[name](tmp_path / name, IDS, LABELS, ROWS)
    table = read_table(tmp_path / name, COLUMNS)

    assert table["id"].tolist() == IDS
    # Null, empty and blank are missing; the word None is a name.
    assert table["label"].tolist() == ["1", "", "", "None"]
    np.testing.assert_array_equal(table["embedding"], ROWS)


@pytest.mark.parametrize("name", WRITERS)
def test_an_id_that_is_missing_is_refused_with_its_row(tmp_path, name):
    WRITERS[name](tmp_path / name, ["a", "b", "", "d"], LABELS, ROWS)

    with pytest.raises(ValueError, match=rf"{name}: `id` .* none in row 2"):
        read_table(tmp_path / name, COLUMNS)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_empty_or_cut_short_is_refused_at_every_length(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path, IDS, LABELS, ROWS)
    content = path.read_bytes()

    for size in [*range(0, len(content) - 1, 97), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=rf"{name}: "):
            read_table(path, COLUMNS)


@pytest.mark.parametrize("name", ["set.npz", "set.npy", "set.parquet", "set.arrow"])
def test_a_file_of_another_kind_is_refused(tmp_path, name):
    (tmp_path / "set.csv").write_text("id,label\n")
    (tmp_path / name).write_bytes(b"id,label,embedding\na,x,1\n" * 9)

    with pytest.raises(ValueError, match=r"a whole \.\w+ file is expected"):
        read_table(tmp_path / name, COLUMNS)


@pytest.mark.parametrize("name", ["set.npz", "set.npy", "set.parquet", "set.arrow"])
def test_a_file_that_is_not_there_is_no_damaged_one(tmp_path, name):
    (tmp_path / "set.csv").write_text("id,label\n")
    with pytest.raises(FileNotFoundError, match=r"no such file\. Check the path"):
        read_table(tmp_path / name, COLUMNS)


def test_an_ending_that_nobody_knows_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.npz, \.npy, .*'set\.csv'"):
        read_table(tmp_path / "set.csv", COLUMNS)


def test_columns_that_nobody_asks_for_may_be_anything(tmp_path):
    table = table_of(IDS, LABELS, ROWS)
    for name in ("price", "price", "note"):
        table = table.append_column(name, pa.array([{"a": 1}] * 4))
    with pa.OSFile(str(tmp_path / "set.arrow"), "wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)

    assert set(read_table(tmp_path / "set.arrow", COLUMNS)) == {
        "id",
        "label",
        "embedding",
    }


def test_missing_columns_are_named_beside_those_that_are_there(tmp_path):
    write_parquet(tmp_path / "set.parquet", IDS, LABELS, ROWS)

    with pytest.raises(
        ValueError, match=r"no 'camera', 'vector'|no 'vector', 'camera'"
    ) as refused:
        read_table(
            tmp_path / "set.parquet", Columns(embedding="vector", names=("camera",))
        )
    assert "'id', 'label', 'embedding'" in str(refused.value)


def test_an_optional_column_may_be_absent(tmp_path):
    write_parquet(tmp_path / "set.parquet", IDS, LABELS, ROWS)
    columns = Columns(names=("label", "camera"), optional=("label", "camera"))

    assert set(read_table(tmp_path / "set.parquet", columns)) == {
        "id",
        "label",
        "embedding",
    }


@pytest.mark.parametrize("name", ["id", "label", "embedding"])
@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_column_named_twice_is_refused(tmp_path, ending, name):
    table = table_of(IDS, LABELS, ROWS)
    table = table.append_column(name, table.column(name))
    path = tmp_path / f"set{ending}"
    if ending == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)

    with pytest.raises(ValueError, match=f"column '{name}' should be there once"):
        read_table(path, COLUMNS)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_or_a_heading_named_twice_is_refused(tmp_path):
    write_npz(tmp_path / "set.npz", IDS, LABELS, ROWS)
    with zipfile.ZipFile(tmp_path / "set.npz", "a") as archive:
        archive.writestr("id.npy", archive.read("label.npy"))
    with pytest.raises(ValueError, match="column 'id' should be there once"):
        read_table(tmp_path / "set.npz", COLUMNS)

    np.save(tmp_path / "set.npy", ROWS[:1])
    (tmp_path / "set.csv").write_text("id,label,label\na,x,y\n")
    with pytest.raises(ValueError, match="column 'label' should be there once"):
        read_table(tmp_path / "set.npy", COLUMNS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, 2.0, 3.0], [4.0]], r"3 components in row 0 and 1 in row 1"),
        ([[1.0, 2.0], None], r"none in row 1"),
        ([None, None], r"lists of floating|none in row 0"),
        ([[1.0, None], [2.0, 3.0]], r"null in row 0"),
        ([[1.0, 2.0], [2.0, None]], r"null in row 1"),
        ([[], []], r"lists of floating|components"),
        ([1.0, 2.0], r"lists of floating numbers. Received: double"),
        (
            [[1, 2], [3, 4]],
            r"lists of floating numbers. Received: (large_)?list<\w+: int64>",
        ),
        (["a", "b"], r"lists of floating numbers. Received: string"),
        ([["a"], ["b"]], r"lists of floating numbers"),
        ([{"a": 1.0}] * 2, r"lists of floating numbers"),
        ([[[1.0]], [[2.0]]], r"lists of floating numbers"),
    ],
)
@pytest.mark.parametrize("large", [False, True])
def test_vectors_that_are_none_are_refused_with_their_row(
    tmp_path, rows, message, large
):
    column = pa.array(rows)
    if large and pa.types.is_list(column.type):
        column = column.cast(pa.large_list(column.type.value_type))
    table = pa.table({"id": ["a", "b"], "label": ["x", "y"], "embedding": column})
    pq.write_table(table, tmp_path / "set.parquet")

    with pytest.raises(ValueError, match=rf"set\.parquet: 'embedding' .*{message}"):
        read_table(tmp_path / "set.parquet", COLUMNS)


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float32()),
        pa.large_list(pa.float64()),
        pa.list_(pa.field("item", pa.float32()), 2),
    ],
)
@pytest.mark.parametrize("chunk", [1, 3, 8])
def test_vectors_may_be_lists_of_any_kind_in_any_number_of_pieces(
    tmp_path, kind, chunk
):
    rows = np.arange(16.0).reshape(8, 2)
    table = pa.table(
        {"id": list("abcdefgh"), "embedding": pa.array(rows.tolist(), kind)}
    )
    with pa.OSFile(str(tmp_path / "set.arrow"), "wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=chunk)

    found = read_table(tmp_path / "set.arrow", Columns())
    np.testing.assert_array_equal(found["embedding"], rows)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (pa.array([["x"], ["y"]]), r"`label` .* row 0"),
        (pa.array([{"a": 1}, {"a": 2}]), r"`label` .* row 0"),
        (pa.array([b"ok", b"\xff\xfe"]), r"`label` .* row 1"),
        (pa.array([1.0, 0.5]), r"`label` .*0\.5.* row 1"),
    ],
)
def test_labels_that_are_no_text_are_refused_with_their_row(tmp_path, labels, message):
    table = pa.table({"id": ["a", "b"], "label": labels, "embedding": [[1.0], [2.0]]})
    pq.write_table(table, tmp_path / "set.parquet")

    with pytest.raises(ValueError, match=rf"set\.parquet: {message}"):
        read_table(tmp_path / "set.parquet", COLUMNS)


def test_integers_with_a_null_stay_integers(tmp_path):
    table = pa.table(
        {"id": [1, 2**60 + 1], "label": [7, None], "embedding": [[1.0], [2.0]]}
    )
    pq.write_table(table, tmp_path / "set.parquet")
    found = read_table(tmp_path / "set.parquet", COLUMNS)

    assert found["id"].tolist() == ["1", "1152921504606846977"]
    assert found["label"].tolist() == ["7", ""]


def test_a_uuid_is_read_as_text_by_every_release(tmp_path):
    names = [uuid.UUID(int=1), uuid.UUID(int=2**127 + 5)]
    # As DuckDB writes it: 16 bytes that are said to be a UUID.
    field = pa.field(
        "id", pa.binary(16), metadata={"ARROW:extension:name": "arrow.uuid"}
    )
    table = pa.table(
        [pa.array([n.bytes for n in names], pa.binary(16)), pa.array([[1.0], [2.0]])],
        schema=pa.schema([field, pa.field("embedding", pa.list_(pa.float64()))]),
    )
    with pa.OSFile(str(tmp_path / "set.arrow"), "wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)

    found = read_table(tmp_path / "set.arrow", Columns())
    assert found["id"].tolist() == [
        "00000000-0000-0000-0000-000000000001",
        "80000000-0000-0000-0000-000000000005",
    ]


def test_sixteen_bytes_that_are_no_text_and_no_uuid_are_refused(tmp_path):
    ids = pa.array([b"0123456789abcdef", b"\xff" * 16], pa.binary(16))
    pq.write_table(
        pa.table({"id": ids, "embedding": [[1.0], [2.0]]}), tmp_path / "set.parquet"
    )
    with pytest.raises(ValueError, match=r"`id` should hold text .* row 1"):
        read_table(tmp_path / "set.parquet", Columns())


def test_columns_of_several_lengths_are_refused(tmp_path):
    write_npz(tmp_path / "set.npz", IDS, LABELS, ROWS[:3])
    with pytest.raises(ValueError, match=r"'id' .* each of the 3 rows.*Received: 4"):
        read_table(tmp_path / "set.npz", COLUMNS)

    write_npy(tmp_path / "set.npy", IDS[:2], LABELS[:2], ROWS)
    with pytest.raises(ValueError, match=r"'id' .* each of the 4 rows.*Received: 2"):
        read_table(tmp_path / "set.npy", COLUMNS)


def test_python_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "set.npz", id=np.array(["a", None], object), embedding=ROWS[:2])
    with pytest.raises(ValueError, match=r"'id' is an array of Python objects"):
        read_table(tmp_path / "set.npz", Columns())


def test_vectors_of_npy_stay_on_disk(tmp_path):
    write_npy(tmp_path / "set.npy", IDS, LABELS, ROWS)

    assert isinstance(read_table(tmp_path / "set.npy", COLUMNS)["embedding"], np.memmap)


def test_csv_keeps_zeros_quotes_and_line_breaks(tmp_path):
    np.save(tmp_path / "set.npy", ROWS[:3])
    (tmp_path / "set.csv").write_bytes(
        '\ufeffid,label\n007,"a, b"\n"x\ny",NA\n1e3,"say ""hi"""\n'.encode()
    )
    found = read_table(tmp_path / "set.npy", COLUMNS)

    assert found["id"].tolist() == ["007", "x\ny", "1e3"]
    assert found["label"].tolist() == ["a, b", "NA", 'say "hi"']


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"a whole \.csv file is expected"),
        (b"id,label\na,x,y\n", r"Expected 2 columns, got 3"),
        (b"id,label\na\n", r"Expected 2 columns, got 1"),
        ("id,label\ncafé,x\n".encode("latin-1"), r"`id` .*UTF-8.* row 0"),
        ("id,label\na,x\n".encode("utf-16"), r"set\.npy: "),
    ],
)
def test_a_csv_file_that_cannot_be_read_is_refused(tmp_path, content, message):
    np.save(tmp_path / "set.npy", ROWS[:1])
    (tmp_path / "set.csv").write_bytes(content)

    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "set.npy", COLUMNS)
