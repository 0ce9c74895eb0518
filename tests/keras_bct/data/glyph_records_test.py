import numpy as np
import pytest

from keras_bct.data import Glyphs, decode_pictures, glyphs, read_records
from keras_bct.data.glyph_records import to_records, write_directory
from keras_bct.data.kanji_split import load_split
from keras_bct.evaluation import Protocol

FACES = {"query": "seto", "gallery": "mona"}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """The whole split in two typefaces, one of each side."""
    written = tmp_path_factory.mktemp("kanji")
    write_directory(written, glyphs.load().select(typefaces=FACES.values()))
    return written


@pytest.fixture(scope="module")
def split():
    return load_split()


def read(directory, name):
    return read_records(directory / f"{name}.tfrecord")


def test_training_files_hold_every_typeface(directory, split):
    train, old = read(directory, "train"), read(directory, "train-old")
    assert len(train) == 600 * 2
    assert set(train.labels) == set(split.train)
    assert set(train.cameras) == {"seto", "mona"}
    assert set(old.labels) == set(split.train_old)


@pytest.mark.parametrize(
    ("part", "characters", "mated"), [("validation", 200, 167), ("test", 600, 500)]
)
def test_queries_and_gallery_are_of_different_typefaces(
    directory, part, characters, mated
):
    queries = read(directory, f"{part}-queries")
    gallery = read(directory, f"{part}-gallery")
    assert set(queries.cameras) == {"seto"}
    assert set(gallery.cameras) == {"mona"}
    assert len(set(queries.labels)) == characters
    assert len(set(gallery.labels)) == mated
    assert set(gallery.labels) < set(queries.labels)


def test_nothing_that_is_evaluated_was_trained_on(directory):
    trained = set(read(directory, "train").labels)
    for part in ("validation", "test"):
        assert not trained & set(read(directory, f"{part}-queries").labels)


def test_ids_name_code_point_and_typeface(directory):
    records = read(directory, "test-queries")
    label = records.labels[0]
    assert records.ids[0] == f"U+{ord(label):04X}/seto"


def test_pictures_are_those_of_the_embedded_set(directory, split):
    records = read(directory, "validation-queries")
    decoded = decode_pictures(records, (32, 32, 1))[..., 0]
    kanji = glyphs.load().select(characters=split.validation, typefaces=["seto"])
    np.testing.assert_array_equal(decoded, kanji.images[:, 0])


@pytest.mark.parametrize("part", ["validation", "test"])
def test_protocols_find_their_files(directory, part):
    protocol = Protocol.from_yaml(directory / f"kanji-{part}.yaml")
    assert protocol.name == f"kanji-{part}"
    assert protocol.gate_metrics == ("retrieval/mAP",)
    assert "identification/TPIR@FPIR=0.01" in protocol.metrics
    for side in (protocol.queries, protocol.gallery):
        assert len(read_records(protocol.locate(side.path), camera=side.camera))


def test_character_that_a_typeface_lacks_has_no_record():
    images = np.zeros((1, 2, 32, 32), np.uint8)
    images[0, 1] = 255
    records = to_records(Glyphs(images, ("亜",), ("thin", "bold")))
    assert records.ids.tolist() == ["U+4E9C/bold"]


def test_command_line_explains_itself(capsys):
    with pytest.raises(SystemExit) as exit_code:
        glyphs.run(["--help"])
    assert exit_code.value.code == 0
    assert "Example: python -m keras_bct.data.glyphs" in capsys.readouterr().out


def test_what_was_there_before_is_not_listed_as_written(tmp_path, monkeypatch, capsys):
    few = glyphs.load().select(typefaces=FACES.values())
    monkeypatch.setattr(glyphs, "load", lambda path: few)
    (tmp_path / ".DS_Store").touch()
    (tmp_path / "older.txt").touch()
    assert glyphs.run([str(tmp_path)]) == 0
    listed = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    written = {str(file) for file in tmp_path.iterdir() if file.suffix != ".txt"}
    assert sorted(listed) == sorted(written - {str(tmp_path / ".DS_Store")})
