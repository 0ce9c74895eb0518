import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keras_bct.evaluation import Source, data_digest, read_embeddings


@pytest.fixture
def write(tmp_path):
    def write(name, ids, **more):
        np.savez(
            tmp_path / name,
            id=np.array(ids),
            label=np.array(["x"] * len(ids)),
            embedding=np.ones((len(ids), 2), np.float32),
            **more,
        )
        return tmp_path / name

    return write


def test_columns_are_those_of_the_source(tmp_path):
    np.savez(
        tmp_path / "set.npz",
        name=np.array(["a"]),
        person=np.array(["x"]),
        where=np.array(["door"]),
        subject=np.array(["t"]),
        video=np.array(["v"]),
        sharp=np.array([0.5]),
        embedding=np.eye(1),
    )
    source = Source(
        "embeddings", "set.npz", "name", "person", "where", "subject", "video", "sharp"
    )
    items = read_embeddings(tmp_path / "set.npz", source)

    assert items.ids.tolist() == ["a"]
    assert items.labels.tolist() == ["x"]
    assert items.cameras.tolist() == ["door"]
    assert items.templates.tolist() == ["t"]
    assert items.media.tolist() == ["v"]
    assert items.qualities.tolist() == [0.5]


def test_the_files_of_a_pattern_are_read_in_their_order(write, tmp_path):
    write("part-1.npz", ["c"])
    write("part-0.npz", ["a", "b"])
    items = read_embeddings(tmp_path / "part-*.npz", Source("embeddings", "x"))

    assert items.ids.tolist() == ["a", "b", "c"]


def test_rows_of_npy_stay_on_disk(tmp_path):
    np.save(tmp_path / "set.npy", np.eye(2, dtype=np.float32))
    (tmp_path / "set.csv").write_text("id,label\n007,1\n008,2\n")
    items = read_embeddings(tmp_path / "set.npy", Source("embeddings", "set.npy"))

    assert isinstance(items.embeddings, np.memmap)
    assert items.ids.tolist() == ["007", "008"]


def test_what_is_wrong_with_a_file_is_said_with_its_name(write):
    path = write("twice.npz", ["a", "a"])
    with pytest.raises(ValueError, match=r"twice\.npz: `ids` should name"):
        read_embeddings(path, Source("embeddings", "x"))


def test_a_label_that_is_missing_in_one_of_two_files_is_no_class(tmp_path):
    for part, labels in enumerate([[7, None], [8, 9]]):
        table = pa.table(
            {
                "id": [f"{part}-{row}" for row in range(2)],
                "label": labels,
                "camera": [None, "door"],
                "embedding": [[1.0, 2.0], [3.0, 4.0]],
            }
        )
        pq.write_table(table, tmp_path / f"part-{part}.parquet")
    source = Source("embeddings", "x", camera="camera")
    items = read_embeddings(tmp_path / "part-*.parquet", source)

    assert items.labels.tolist() == ["7", "", "8", "9"]
    assert items.cameras.tolist() == ["", "door", "", "door"]


def test_files_of_two_sizes_are_named(write, tmp_path):
    write("part-0.npz", ["a"])
    np.savez(tmp_path / "part-1.npz", id=["b"], label=["x"], embedding=np.ones((1, 3)))

    with pytest.raises(
        ValueError, match=r"part-1\.npz: .* the 2 components .*part-0\.npz.* 3"
    ):
        read_embeddings(tmp_path / "part-*.npz", Source("embeddings", "x"))


def test_one_column_may_name_items_and_classes(tmp_path):
    np.savez(tmp_path / "set.npz", name=["b", "a"], embedding=np.eye(2))
    items = read_embeddings(
        tmp_path / "set.npz", Source("embeddings", "x", id="name", label="name")
    )

    assert items.ids.tolist() == items.labels.tolist() == ["b", "a"]


class TestDataDigest:
    def test_it_is_that_of_all_files(self, write, make_protocol, tmp_path):
        write("set.npz", ["a"])
        protocol = make_protocol("retrieval/mAP", directory=str(tmp_path))
        digest = data_digest(protocol)

        assert len(digest) == 64
        assert data_digest(protocol) == digest
        (tmp_path / "pairs.csv").write_text("query,gallery\na,a\n")
        with_pairs = make_protocol(
            "retrieval/mAP", directory=str(tmp_path), pairs="pairs.csv"
        )
        assert data_digest(with_pairs) != digest
        write("set.npz", ["b"])
        assert data_digest(protocol) != digest

    def test_a_missing_file_is_named(self, make_protocol, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"set\.npz"):
            data_digest(make_protocol("retrieval/mAP", directory=str(tmp_path)))

    def test_a_gallery_is_the_registrys(self, write, make_protocol, tmp_path):
        import dataclasses

        write("set.npz", ["a"])
        protocol = dataclasses.replace(
            make_protocol("retrieval/mAP", directory=str(tmp_path)),
            gallery=Source("gallery", "faces"),
        )
        with pytest.raises(ValueError, match="the gallery 'faces'"):
            data_digest(protocol)
