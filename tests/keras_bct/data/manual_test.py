"""Runs what docs/data.md shows on other pictures, on miniatures of what it names."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from keras_bct.data import glyphs, write_records
from keras_bct.data.convert import run
from keras_bct.data.glyph_records import to_records

MANUAL = Path(__file__).parents[3] / "docs/data.md"
META = """\
Class_ID, Name, Sample_Num, Flag, Gender
n000002, "A", 1, 1, f
n000003, "B", 1, 1, m
"""


@pytest.fixture
def pictures(lay_out, monkeypatch, tmp_path):
    faces = [f"faces/p{person}/{n}.jpg" for person in range(4) for n in range(2)]
    vgg = {f"VGGFace2/train/n00000{n}/0001_01.jpg": None for n in (2, 3)}
    lay_out(
        dict.fromkeys([*faces, "0001_c1.jpg", "0001_c2.jpg"])
        | vgg
        | {
            "VGGFace2/identity_meta.csv": META,
            "list.csv": f"file,sku,shop\n{faces[0]},a,north\n{faces[1]},b,south\n",
        }
    )
    (tmp_path / "out/kanji").mkdir(parents=True)
    some = glyphs.load().split("train_old")
    write_records(
        tmp_path / "out/kanji/train.tfrecord",
        to_records(some.select(characters=some.characters[:3])),
    )
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_the_commands_and_the_code_of_the_manual_run(pictures):
    text = MANUAL.read_text(encoding="utf-8")
    blocks = re.findall(r"(?ms)^```(\w*)\n(.*?)^```", text)
    names, batches = {}, []
    for language, block in blocks:
        if language == "python":
            exec(block, names)
            if "batches = " in block:
                batches.append(next(iter(names["batches"])))
            continue
        for command in block.splitlines():
            if command.startswith("python -m keras_bct.data.convert"):
                assert run(shlex.split(command)[3:]) == 0
    kanji, from_disk, changed = (images.numpy() for images, _ in batches)
    assert kanji.shape == (128, 32, 32, 1)
    assert from_disk.shape == changed.shape == (320, 112, 112, 3)
    assert np.abs(from_disk - changed).max() > 1
    assert names["biased"].labels.tolist() == ["n000002", "n000003"]
    assert len(names["records"]) == 2
