import pytest

from keras_bct.data import read_image_folder


def test_folders_are_the_classes(lay_out):
    root = lay_out(
        dict.fromkeys(["cat/2.jpg", "cat/1.PNG", "dog/deep/er/3.jpeg"])
        | {"cat/Thumbs.db": "x", "cat/._1.jpg": "x", "README.txt": "x"}
    )
    images = read_image_folder(root)
    assert images.ids.tolist() == ["cat/1.PNG", "cat/2.jpg", "dog/deep/er/3.jpeg"]
    assert images.labels.tolist() == ["cat", "cat", "dog"]
    assert images.paths[1] == str(root / "cat/2.jpg")


def test_picture_beside_the_classes_is_named(lay_out):
    root = lay_out({"cat/1.jpg": None, "2.jpg": None})
    with pytest.raises(ValueError, match=r"2\.jpg: expected a folder"):
        read_image_folder(root)


def test_class_without_pictures_is_named(lay_out):
    root = lay_out({"cat/1.jpg": None, "dog/notes.txt": "x"})
    with pytest.raises(ValueError, match="dog: expected pictures"):
        read_image_folder(root)


def test_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="one folder a class"):
        read_image_folder(tmp_path)
    with pytest.raises(NotADirectoryError, match="absent"):
        read_image_folder(tmp_path / "absent")
