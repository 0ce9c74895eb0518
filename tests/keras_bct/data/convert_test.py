import importlib.util
import pathlib
import re
import shlex
import sys

import numpy as np
import pytest
import yaml
from PIL import Image

from keras_bct.data import (
    class_split,
    decode_pictures,
    read_records,
    training_dataset,
)
from keras_bct.data.convert import run
from keras_bct.evaluation import Protocol
from keras_bct.evaluation.verification.pair_list import read_pairs
from keras_bct.training import recipe_file


def layout(name):
    """The miniature of another test."""
    path = pathlib.Path(__file__).with_name(f"{name}_test.py")
    spec = importlib.util.spec_from_file_location(f"{name}_layout", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_market_becomes_records_that_its_protocol_reads(lay_out, tmp_path):
    source = lay_out(layout("market1501").FILES, tmp_path / "market")
    assert run(["market1501", str(source), str(tmp_path / "out")]) == 0
    protocol = Protocol.from_yaml(tmp_path / "out/market-1501.yaml")
    gallery = read_records(protocol.locate(protocol.gallery.path))
    queries = read_records(protocol.locate(protocol.queries.path))
    assert gallery.labels.tolist() == ["-1", "0000", "0001", "0001", "0003"]
    assert queries.cameras.tolist() == ["c1", "c2", "c1"]
    ((images, _),) = training_dataset(
        str(tmp_path / "out/train.tfrecord"),
        class_names=("0002", "0007"),
        image_shape=(256, 128, 3),
        batch_size=2,
        seed=0,
    ).take(1)
    assert images.shape == (2, 256, 128, 3)


@pytest.mark.parametrize("form", ["nist", "community"])
def test_ijbc_becomes_records_that_its_protocols_read(lay_out, tmp_path, form):
    ijbc = layout("ijbc")
    files = ijbc.nist() if form == "nist" else ijbc.community() | ijbc.lists("meta")
    source, out = lay_out(files, tmp_path / "ijbc"), tmp_path / "out"
    assert run(["ijbc", str(source), str(out), "--shards", "2"]) == 0
    templates = {}
    for name in ("verification", "identification-g1", "identification-g2"):
        protocol = Protocol.from_yaml(out / f"ijb-c-{name}.yaml")
        for side in (protocol.queries, protocol.gallery):
            read = read_records(
                protocol.locate(side.path), template=side.template, medium=side.medium
            )
            assert read.media is not None
            templates[name, side is protocol.gallery] = set(read.templates.tolist())
    assert templates["verification", False] == {"1", "2", "3"}
    assert templates["verification", True] == {"11065", "11066"}
    assert templates["identification-g1", True] == {"1", "2"}
    assert templates["identification-g2", True] == {"3"}
    assert templates["identification-g2", False] == {"11065", "11066"}
    pairs = read_pairs(out / "pairs.csv")
    assert pairs.tolist()[0] == ["1", "11065"]
    assert len(pairs) == 4


def test_ijbc_of_the_community_without_1n_has_verification_alone(lay_out, tmp_path):
    source, out = lay_out(layout("ijbc").community(), tmp_path / "ijbc"), tmp_path / "o"
    assert run(["ijbc", str(source), str(out)]) == 0
    protocol = Protocol.from_yaml(out / "ijb-c-verification.yaml")
    read = read_records(protocol.locate(protocol.queries.path), template="template")
    assert set(read.templates.tolist()) == {"1", "2", "3"}
    assert not list(out.glob("*identification*"))


def test_old_classes_are_a_share_of_the_training_ones(lay_out, tmp_path):
    names = [f"class-{n}" for n in range(8)]
    source = lay_out({f"{name}/1.jpg": None for name in names}, tmp_path / "in")
    run(["folder", str(source), str(tmp_path / "out"), "--old-share", "0.25"])
    old = read_records(tmp_path / "out/train-old.tfrecord").labels.tolist()
    assert len(read_records(tmp_path / "out/train.tfrecord")) == 8
    assert sorted(old) == sorted(class_split.first_share(names, 0.25))


def test_other_sets_are_converted_by_their_recipes(lay_out, tmp_path, decoded):
    imagenet, places, faces = map(layout, ("imagenet", "places", "vggface2"))
    sets = {
        "imagenet": (imagenet.TRAIN | imagenet.SORTED, ["train", "val"]),
        "places365": (places.LISTS | places.TRAIN | places.VAL, ["train", "val"]),
        "vggface2": (faces.PICTURES | faces.LISTS, ["train", "test"]),
    }
    for name, (files, parts) in sets.items():
        source, out = lay_out(files, tmp_path / name), tmp_path / f"{name}-out"
        assert run([name, str(source), str(out), "--size", "32x32"]) == 0
        for part in parts:
            records = read_records(out / f"{part}.tfrecord")
            assert decoded(records.images[0]).shape == (32, 32, 3)


def test_csv_keeps_bytes_unless_a_size_is_asked_for(lay_out, tmp_path):
    source = lay_out({"a.jpg": None, "l.csv": "file,who\na.jpg,x\n"}, tmp_path / "in")
    arguments = ["--image", "file", "--label", "who", "--name", "gallery"]
    run(["csv", str(source / "l.csv"), str(tmp_path / "out"), *arguments])
    records = read_records(tmp_path / "out/gallery.tfrecord")
    assert records.images == [(source / "a.jpg").read_bytes()]


def test_what_was_there_before_is_not_listed_as_written(lay_out, tmp_path, capsys):
    source = lay_out(layout("ijbc").nist(), tmp_path / "in")
    out = lay_out({"older.txt": "x", "train.tfrecord": "x"}, tmp_path / "out")
    assert run(["ijbc", str(source), str(out), "--size", "8x8", "--shards", "2"]) == 0
    listed = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    written = {str(file) for file in out.iterdir()}
    written -= {str(out / "older.txt"), str(out / "train.tfrecord")}
    assert sorted(listed) == sorted(written)


COMMAND = re.compile(r"# python -m keras_bct\.data\.convert (.*?[^\\])\n", re.S)


@pytest.mark.parametrize("name", ["imagenet", "imdb-face", "market-1501"])
def test_recipes_read_the_files_that_their_commands_write(
    lay_out, tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    layouts = {
        "imagenet": layout("imagenet").TRAIN | layout("imagenet").SORTED,
        "imdb-face": dict.fromkeys(f"{n}/{i}.jpg" for n in "abcd" for i in range(32)),
        "market-1501": layout("market1501").FILES,
    }
    read = {}
    for recipe in (name, f"{name}-old"):
        text = (recipe_file.FOLDER / f"{recipe}.yaml").read_text("utf-8")
        (command,) = COMMAND.findall(text)
        arguments = shlex.split(re.sub(r"\\\n#", "", command))
        lay_out(layouts[name], tmp_path / arguments[1])
        assert run([*arguments, "--size", "8x8"]) == 0
        patterns = yaml.safe_load(text)["data"]["train"]
        read[recipe] = set(read_records(patterns).labels.tolist())
    new, old = read[name], read[f"{name}-old"]
    assert old < new
    assert len(old) == round(len(new) / 2)


def test_own_size_and_another_show_the_same_of_sixteen_bits(tmp_path):
    ramp = np.arange(0, 65536, 257, np.uint16).reshape(16, 16)
    (tmp_path / "in/x").mkdir(parents=True)
    Image.fromarray(ramp).save(tmp_path / "in/x/1.tif")
    Image.fromarray(ramp).save(tmp_path / "in/x/2.png")
    for name, more in (("own", []), ("sized", ["--size", "16x16"])):
        out = str(tmp_path / name)
        run(["folder", str(tmp_path / "in"), out, "--encoding", "png", "--grey", *more])
        pictures = read_records(tmp_path / name / "train.tfrecord")
        decoded = decode_pictures(pictures, (16, 16, 1))
        for pixels in decoded[..., 0]:
            np.testing.assert_array_equal(pixels, np.arange(256).reshape(16, 16))


def test_bytes_are_kept_when_that_is_asked_for_and_nothing_against_it(
    lay_out, tmp_path, capsys
):
    source = lay_out({"x/1.gif": "no picture at all"}, tmp_path / "in")
    arguments = ["folder", str(source), str(tmp_path / "out"), "--as-is"]
    assert run(arguments) == 0
    read = read_records(tmp_path / "out/train.tfrecord")
    assert read.images == [b"no picture at all"]
    assert run([*arguments, "--size", "8x8"]) == 2
    assert "--as-is" in capsys.readouterr().err


def test_wrong_set_is_an_error_with_file_and_line_and_no_traceback(
    lay_out, tmp_path, capsys
):
    source = lay_out({"l.csv": "image,label\nb.jpg,x\n"})
    assert run(["csv", str(source / "l.csv"), str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "l.csv:2: expected a picture that is there" in said
    assert "Traceback" not in said


def test_loaders_and_command_line_wait_for_tensorflow_until_they_write():
    # Help and errors should not take seconds.
    import subprocess

    script = "import sys, keras_bct.data.convert; print('tensorflow' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert said.stdout.strip() == "False"
