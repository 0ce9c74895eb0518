import numpy as np
import pytest

from keras_bct.data import ImageList, Preparation, read_records, write_shards


@pytest.fixture
def five(lay_out, picture):
    files = {f"{n}.jpg": picture((40 * n, 0, 0), size=(10, 6)) for n in range(5)}
    root = lay_out(files)
    return ImageList(
        ids=np.array([f"id-{n}" for n in range(5)]),
        paths=[root / name for name in files],
        labels=np.array(["x", "y", "x", "y", "x"]),
        cameras=np.array(["c"] * 5),
        templates=np.array(["t"] * 5),
        media=np.array(list("mnoop")),
    )


def test_written_pictures_are_read_as_records(five, tmp_path):
    (file,) = write_shards(tmp_path / "out", "train", five)
    assert file.name == "train.tfrecord"
    read = read_records(file, template="template", medium="medium")
    assert read.ids.tolist() == five.ids.tolist()
    assert read.images == five.read().images
    assert read.labels.tolist() == five.labels.tolist()
    assert read.cameras.tolist() == ["c"] * 5
    assert read.templates.tolist() == ["t"] * 5
    assert read.media.tolist() == list("mnoop")


def test_shards_hold_every_picture_once_and_in_order(five, tmp_path):
    files = write_shards(tmp_path / "out", "train", five, shards=3)
    assert [file.name for file in files] == [
        f"train-0000{n}-of-00003.tfrecord" for n in range(3)
    ]
    assert read_records(files).ids.tolist() == five.ids.tolist()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(
        file.name for file in files
    )


def test_pictures_are_brought_to_one_size(five, tmp_path, decoded):
    write_shards(tmp_path, "train", five, preparation=Preparation(4, 4))
    pictures = [decoded(i) for i in read_records(tmp_path / "train.tfrecord").images]
    assert all(image.shape == (4, 4, 3) for image in pictures)
    np.testing.assert_allclose(
        [image[0, 0, 0] for image in pictures], [0, 40, 80, 120, 160], atol=2
    )


def test_unreadable_picture_is_named_and_leaves_no_file(five, tmp_path):
    (tmp_path / "3.jpg").write_bytes(b"junk")
    with pytest.raises(ValueError, match=r"3\.jpg \(id 'id-3'\): expected a picture"):
        write_shards(tmp_path / "out", "train", five, preparation=Preparation(4, 4))
    assert not (tmp_path / "out/train.tfrecord").exists()


def test_unreadable_pictures_can_be_left_out(five, tmp_path, capsys):
    (tmp_path / "3.jpg").write_bytes(b"junk")
    (tmp_path / "1.jpg").unlink()
    write_shards(
        tmp_path, "train", five, preparation=Preparation(4, 4), skip_unreadable=True
    )
    read = read_records(tmp_path / "train.tfrecord")
    assert read.ids.tolist() == ["id-0", "id-2", "id-4"]
    said = capsys.readouterr().err
    assert "left out" in said and "id-3" in said and "id-1" in said


@pytest.mark.parametrize("shards", [0, 6])
def test_more_shards_than_pictures_are_refused(five, tmp_path, shards):
    with pytest.raises(ValueError, match="`shards` should be from 1 to 5"):
        write_shards(tmp_path, "train", five, shards=shards)
