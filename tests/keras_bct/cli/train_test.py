"""`python -m keras_bct train` from a recipe to a version and its summary."""

import dataclasses
import json
from pathlib import Path

import pytest

from keras_bct.__main__ import main
from keras_bct.data import glyphs, read_records, write_records
from keras_bct.data.glyph_records import to_records


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three characters in four typefaces, in the working directory."""
    pictures = glyphs.load()
    few = pictures.select(
        characters=pictures.characters[:3], typefaces=pictures.typefaces[:4]
    )
    write_records(tmp_path / "few.tfrecord", to_records(few))
    monkeypatch.chdir(tmp_path)
    return tmp_path


SMALL = [
    word
    for change in (
        "data.train=few.tfrecord",
        "steps=4",
        "interval_steps=2",
        "width=2",
        "embedding_size=4",
        "batch_size=4",
    )
    for word in ("--set", change)
]


def test_a_recipe_by_name_leaves_a_version(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "kanji-phi1", "--output", "phi1", *SMALL, "--quiet"]
    assert main([*command, "--json", "summary.json"]) == 0
    assert (folder / "phi1/version/saved_model.pb").is_file()
    assert list((folder / "phi1/logs").iterdir())
    assert not (folder / "phi1/checkpoint.npz").exists()
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert (summary["steps"], summary["classes"], summary["pictures"]) == (4, 3, 12)
    assert len(summary["history"]) == 2
    assert summary["last"] == summary["history"][-1]
    assert "12 of 3 classes" in capsys.readouterr().out

    # The same command again finds it, wherever the pictures lie; another recipe does
    # not get it.
    (folder / "few.tfrecord").rename(folder / "moved.tfrecord")
    command += ["--set", "data.train=moved.tfrecord"]
    assert main(command) == 0
    assert "is trained already" in capsys.readouterr().out
    assert main([*command, "--set", "seed=9"]) == 2
    assert "another training: `seed` was 2 and is 9" in capsys.readouterr().err
    # Nor do other pictures of the same names in the same place.
    records = read_records("moved.tfrecord")
    images = [records.images[0], *records.images[:-1]]
    write_records("moved.tfrecord", dataclasses.replace(records, images=images))
    assert main(command) == 2
    assert "`pictures (SHA-256)` was" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "one of imagenet"),
        (["kanji-phi1", "--set", "lambda=1"], "lambda"),
        (["kanji-phi1", "--set", "data=null"], "should name its pictures"),
        (["kanji-phi1", "--set", "data.train=none.tfrecord"], "none.tfrecord"),
        (["kanji-beta", "--set", "data.train=few.tfrecord"], "phi1/version"),
    ],
)
def test_wrong_usage_is_answered_in_a_line(
    words: list[str],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", *words, "--output", "out"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


def test_help_shows_an_example_and_the_recipes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    printed = capsys.readouterr().out
    assert "python -m keras_bct train kanji-beta-sys --output" in printed
    assert "imdb-face" in printed
