"""The command leaves its files, also where nothing is trained yet."""

from pathlib import Path

import numpy as np
import pytest

from keras_bct.data import ImageRecords, write_records
from keras_bct.experiments.command_line import run

PROTOCOL = """\
name: kanji-test
queries: {source: tfrecord, path: test-queries.tfrecord, camera: camera}
gallery: {source: tfrecord, path: test-gallery.tfrecord, camera: camera}
metrics: [retrieval/mAP]
"""
PARTS = ("train-quarter", "train-old", "train", "test-queries", "test-gallery")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "kanji-test.yaml").write_text(PROTOCOL, encoding="utf-8")
    for part in PARTS:
        records = ImageRecords(np.array(["1"]), [part.encode()], np.array(["a"]))
        write_records(directory / f"{part}.tfrecord", records)
    return directory


def test_without_trainings_the_tables_say_what_is_missing(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    code = run(
        [
            *("all", "--no-training", "--seeds", "2"),
            *("--data", str(data), "--output", str(tmp_path / "output")),
            *("--results", str(results)),
        ]
    )

    assert code == 0
    names = [f"table{number}" for number in range(1, 6)]
    assert sorted(path.name for path in results.iterdir()) == sorted(
        f"{name}.{kind}" for name in names for kind in ("md", "json")
    )
    table1 = (results / "table1.md").read_text(encoding="utf-8")
    assert "**0 of 12 rows are in**" in table1
    assert "- seed 1: missing independent; beta; beta-sys; beta-kd; l2; lwf" in table1
    assert not (tmp_path / "output" / "trainings").exists()
    assert str(results / "table1.md") in capsys.readouterr().out
