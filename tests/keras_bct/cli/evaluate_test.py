import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from keras_bct.__main__ import main
from keras_bct.evaluation import (
    EmbeddingSet,
    Protocol,
    compare,
    decide,
    measure,
    read_embeddings,
)

PROTOCOL = """
name: people
queries: {source: embeddings, path: old-queries.npz, camera: camera}
gallery: {source: embeddings, path: old-gallery.npz, camera: camera}
metrics: [retrieval/mAP, "verification/TAR@FAR=0.01", "identification/TPIR@FPIR=0.2"]
bootstrap: {replicates: 200}
"""


def columns(items):
    return {
        "id": items.ids,
        "label": items.labels,
        "camera": items.cameras,
        "embedding": items.embeddings,
    }


@pytest.fixture
def folder(tmp_path):
    """A protocol, and the embeddings of an old and a new model."""
    centres = np.random.default_rng(1).normal(size=(36, 16))
    for version, noise in (("old", 1.1), ("new", 0.7)):
        for seed, (side, who) in enumerate(
            (
                ("queries", np.repeat(np.arange(36), 3)),
                ("gallery", np.repeat(np.arange(30), 4)),
            )
        ):
            generator = np.random.default_rng([seed, int(10 * noise)])
            rows = centres[who] + noise * generator.normal(size=(len(who), 16))
            items = EmbeddingSet(
                [f"{side}-{i:03}" for i in range(len(who))],
                [f"person {w:02}" for w in who],
                [f"camera {i % 3}" for i in range(len(who))],
                rows,
            )
            np.savez(tmp_path / f"{version}-{side}.npz", **columns(items))
    (tmp_path / "protocol.yaml").write_text(PROTOCOL)
    return tmp_path


def run(folder, *arguments):
    return main(["evaluate", "--protocol", str(folder / "protocol.yaml"), *arguments])


def side(folder, name):
    return read_embeddings(
        folder / f"{name}.npz", Protocol.from_yaml(folder / "protocol.yaml").queries
    )


def test_one_model_is_measured(folder, capsys):
    assert run(folder, "--json", str(folder / "out.json")) == 0

    protocol = Protocol.from_yaml(folder / "protocol.yaml")
    expected = measure(
        protocol, side(folder, "old-queries"), side(folder, "old-gallery")
    )
    printed = capsys.readouterr().out
    result = json.loads((folder / "out.json").read_text())
    assert result["protocol"] == {"name": "people", "digest": protocol.digest()}
    assert result["counts"] == expected.counts
    for metric, value in expected.values.items():
        assert result["measurements"]["M"][metric]["value"] == value
        assert f"{value:.4f}" in printed
        assert metric in printed
    assert result["comparison"] is None


def test_two_models_are_compared_and_the_gate_answers(folder, capsys):
    status = run(
        folder,
        "--queries",
        str(folder / "new-queries.npz"),
        "--gallery",
        str(folder / "old-gallery.npz"),
        "--against",
        str(folder / "old-queries.npz"),
        "--new-gallery",
        str(folder / "new-gallery.npz"),
        "--paragon",
        str(folder / "new-queries.npz"),
        str(folder / "new-gallery.npz"),
        "--json",
        str(folder / "out.json"),
        "--min-gain",
        "0.1",
        "--confidence",
        "0.9",
    )
    assert status == 0
    new = side(folder, "new-queries"), side(folder, "new-gallery")
    expected = compare(
        Protocol.from_yaml(folder / "protocol.yaml"),
        old_queries=side(folder, "old-queries"),
        old_gallery=side(folder, "old-gallery"),
        new_queries=new[0],
        new_gallery=new[1],
        paragon=new,
    )
    result = json.loads((folder / "out.json").read_text())
    for metric, numbers in expected.metrics.items():
        assert result["comparison"][metric]["new_old"] == numbers.new_old
        assert result["comparison"][metric]["gain"] == pytest.approx(numbers.gain)
        assert result["comparison"][metric]["difference_interval"] == pytest.approx(
            numbers.difference_interval(0.9)
        )
    decision = decide(expected, confidence=0.9, min_gain=0.1)
    assert result["decision"]["answer"] == decision.answer
    assert f"Gate: {decision.answer}" in capsys.readouterr().out


def test_a_group_that_cannot_be_measured_is_named_before_the_rest_is(
    folder, capsys, monkeypatch
):
    monkeypatch.setattr(
        "keras_bct.cli.evaluate.measure", lambda *_, **__: pytest.fail("measured")
    )

    assert run(folder, "--groups", "label") == 2
    assert "group 'person 00'" in capsys.readouterr().err


def test_items_without_a_label_are_counted_and_warned_of(folder, capsys):
    queries = side(folder, "old-queries")
    labels = np.where(np.arange(108) % 4 == 0, "", queries.labels)
    np.savez(folder / "old-queries.npz", **columns(queries) | {"label": labels})
    paths = ["--json", str(folder / "out.json"), "--html", str(folder / "out.html")]

    assert run(folder, "--groups", "camera", *paths) == 0

    warning = "27 items of the queries have no label and were left out."
    printed = capsys.readouterr().out
    assert "27 queries without label" in printed
    assert f"Warning: {warning}" in printed
    result = json.loads((folder / "out.json").read_text())
    assert result["counts"]["queries_without_label"] == 27
    assert warning in result["warnings"]
    page = (folder / "out.html").read_text()
    assert warning in page
    assert "27 queries without label" in page


def test_groups_are_measured_on_request(folder, capsys):
    assert run(folder, "--groups", "camera", "--json", str(folder / "out.json")) == 0

    groups = json.loads((folder / "out.json").read_text())["groups"]
    assert set(groups["retrieval/mAP"]) == {"camera 0", "camera 1", "camera 2"}
    assert "gap" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "camera"], "--groups camera needs cameras"),
        (["--json", "nowhere/out.json"], "nowhere/out.json cannot be written"),
        (["--html", "nowhere/out.html"], "nowhere/out.html cannot be written"),
        (
            "--new-gallery new-gallery.npz --against old-queries.npz --curve".split(),
            "--curve needs retrieval/mAP",
        ),
    ],
)
def test_what_can_be_known_before_the_measuring_is_said_before(
    folder, capsys, monkeypatch, arguments, message
):
    text = PROTOCOL.replace(", camera: camera", "").replace("retrieval/mAP, ", "")
    text = text.replace('"verification/TAR@FAR=0.01", ', "")
    (folder / "protocol.yaml").write_text(text)
    monkeypatch.setattr(
        "keras_bct.cli.evaluate.measure", lambda *_, **__: pytest.fail("measured")
    )
    monkeypatch.chdir(folder)

    assert run(folder, *arguments) == 2
    assert message in capsys.readouterr().err


def write_parquet(path, items):
    table = {name: column.tolist() for name, column in columns(items).items()}
    parquet.write_table(pa.table(table), path)


def write_arrow(path, items):
    table = pa.table({n: column.tolist() for n, column in columns(items).items()})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table, max_chunksize=50)


def write_npy(path, items):
    np.save(path, items.embeddings)
    lines = zip(items.ids, items.labels, items.cameras, strict=True)
    path.with_suffix(".csv").write_text(
        "id,label,camera\n" + "".join(f"{a},{b},{c}\n" for a, b, c in lines)
    )


def write_tfrecord(path, items):
    tf = pytest.importorskip("tensorflow")
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(len(items)):
            names = {"id": items.ids, "label": items.labels, "camera": items.cameras}
            feature = {
                name: tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[str(column[i]).encode()])
                )
                for name, column in names.items()
            }
            feature["embedding"] = tf.train.Feature(
                float_list=tf.train.FloatList(value=items.embeddings[i])
            )
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        (".parquet", write_parquet),
        (".arrow", write_arrow),
        (".npy", write_npy),
        (".tfrecord", write_tfrecord),
    ],
)
def test_every_format_gives_the_same_numbers(folder, ending, write):
    for name in ("queries", "gallery"):
        write(folder / f"{name}{ending}", side(folder, f"old-{name}"))
    assert run(folder, "--json", str(folder / "npz.json")) == 0
    status = run(
        folder,
        "--queries",
        str(folder / f"queries{ending}"),
        "--gallery",
        str(folder / f"gallery{ending}"),
        "--json",
        str(folder / "other.json"),
    )

    assert status == 0
    assert (folder / "other.json").read_text() == (folder / "npz.json").read_text()


class TestModels:
    """A SavedModel in the place of a file embeds the protocol's pictures."""

    @pytest.fixture
    def pictures(self, folder, monkeypatch):
        import keras_bct.data.records
        import keras_bct.models
        from keras_bct.data import ImageRecords

        queries = side(folder, "old-queries")

        class Embedder:
            def embed_bytes(self, images, ids):
                return np.stack([np.frombuffer(image, np.float32) for image in images])

        def read_records(pattern, **features):
            items = side(folder, f"old-{pattern.rsplit('/')[-1]}")
            assert features["label"] == "label"
            return ImageRecords(
                items.ids,
                [row.tobytes() for row in items.embeddings],
                items.labels,
                items.cameras,
            )

        monkeypatch.setattr(keras_bct.data.records, "read_records", read_records)
        monkeypatch.setattr(keras_bct.models, "load_embedder", lambda _: Embedder())
        text = PROTOCOL.replace("source: embeddings", "source: tfrecord")
        for name in ("queries", "gallery"):
            text = text.replace(f"old-{name}.npz", name)
        (folder / "pictures.yaml").write_text(text)
        (folder / "model").mkdir()
        return queries

    def evaluate(self, folder, *arguments):
        out = str(folder / "model.json")
        protocol = str(folder / "pictures.yaml")
        status = main(["evaluate", "--protocol", protocol, "--json", out, *arguments])
        assert status == 0
        return json.loads((folder / "model.json").read_text())["measurements"]

    def test_a_model_or_bare_rows_give_the_same(self, folder, pictures):
        run(folder, "--json", str(folder / "npz.json"))
        expected = json.loads((folder / "npz.json").read_text())["measurements"]
        np.save(folder / "rows.npy", pictures.embeddings)
        model = str(folder / "model")

        assert self.evaluate(folder, "--queries", model, "--gallery", model) == expected
        rows = str(folder / "rows.npy")
        assert self.evaluate(folder, "--queries", rows, "--gallery", model) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queries", "nowhere.npz"], "No file matches 'nowhere.npz'"),
        (["--queries", "{folder}/protocol.yaml"], "should end in one of"),
        (["--queries", "{folder}/short.npz"], "short.npz: the columns .* no 'camera'"),
        (["--queries", "{folder}/alone.npy"], "CSV file beside it"),
        (["--queries", "{folder}"], "should be pictures"),
        (["--min-gain", "0.3"], "--min-gain needs --against"),
        (["--confidence", "95"], "`confidence`"),
        (["--block-rows", "0"], "`block_rows`"),
    ],
)
def test_wrong_input_exits_with_two(folder, capsys, arguments, message):
    items = side(folder, "old-queries")
    np.savez(folder / "short.npz", id=items.ids, label=items.labels, embedding=[[1.0]])
    np.save(folder / "alone.npy", items.embeddings)
    arguments = [argument.format(folder=folder) for argument in arguments]

    assert run(folder, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert re.search(message, captured.err)


def test_help_shows_an_example(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "--help"])

    assert stop.value.code == 0
    assert "python -m keras_bct evaluate --protocol faces.yaml" in (
        capsys.readouterr().out
    )


def test_the_curve_leads_from_the_old_gallery_to_the_new_one(folder):
    sides = ["--queries", "new-queries", "--against", "old-queries"]
    sides += ["--gallery", "old-gallery", "--new-gallery", "new-gallery"]
    named = [
        name if name.startswith("--") else str(folder / f"{name}.npz") for name in sides
    ]
    paths = ["--json", str(folder / "out.json"), "--html", str(folder / "out.html")]
    assert run(folder, *named, "--curve", *paths) == 0

    result = json.loads((folder / "out.json").read_text())
    assert set(result["curve"]) == {"retrieval/mAP", "verification/TAR@FAR=0.01"}
    for metric, curve in result["curve"].items():
        measured = result["comparison"][metric]
        assert curve["cutoffs"][0] == 0 and curve["cutoffs"][-1] == 120
        assert curve["values"][0] == pytest.approx(measured["new_old"])
        assert curve["values"][-1] == pytest.approx(measured["new_new"])
        assert curve["area"] == pytest.approx(np.mean(curve["values"]))
    assert "Backfilling: retrieval/mAP" in (folder / "out.html").read_text()


def test_a_curve_without_the_new_gallery_is_refused(folder, capsys):
    assert run(folder, "--curve") == 2
    assert "--new-gallery" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("id", None, "`id` .*none in row 1"),
        ("id", b"\xff", "`id` .*row 1"),
        ("label", ["x"], "`label` .*row"),
        ("embedding", [1.0], "'embedding' .*row 0 and 1 in row 1"),
        ("embedding", None, "'embedding' .*none in row 1"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_file(
    folder, capsys, column, value, message
):
    items = side(folder, "old-queries")
    table = {
        "id": items.ids.tolist(),
        "label": items.labels.tolist(),
        "camera": items.cameras.tolist(),
        "embedding": items.embeddings.tolist(),
    }
    if isinstance(value, bytes):
        table[column] = [name.encode() for name in table[column]]
    if column == "label":
        table[column] = [["x"] for _ in table[column]]
    table[column][1] = value
    parquet.write_table(pa.table(table), folder / "odd.parquet")

    assert run(folder, "--queries", str(folder / "odd.parquet")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(rf"error: \S*odd\.parquet: .*{message}.*\n", captured.err)


@pytest.mark.parametrize("ending", [".npz", ".npy", ".parquet", ".arrow"])
@pytest.mark.parametrize(
    "content", [b"", b"\x93NUMPY", b"PK\3\4", b"PAR1", b"ARROW1\0\0"]
)
def test_half_a_file_is_named(folder, capsys, ending, content):
    path = folder / f"half{ending}"
    path.write_bytes(content)
    path.with_suffix(".csv").write_text("id,label,camera\n")

    assert run(folder, "--queries", str(path)) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {path}: a whole {ending} file is expected")
    assert captured.err.count("\n") == 1
