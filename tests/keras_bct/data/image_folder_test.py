import os

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


HIDDEN = [
    "x/.ipynb_checkpoints/1-checkpoint.png",
    "x/@eaDir/thumb.jpg",
    "x/._1.png",
    "x/.DS_Store",
    "x/deep/Thumbs.db",
    "__MACOSX/x/1.png",
    ".git/x/1.png",
]


def test_what_other_programs_hide_there_is_no_picture_and_is_counted(lay_out, capsys):
    root = lay_out(dict.fromkeys(["x/1.png", "y/2.png", *HIDDEN]))
    assert read_image_folder(root).ids.tolist() == ["x/1.png", "y/2.png"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "7 hidden or another program's own (.git, __MACOSX, " in said


@pytest.mark.parametrize(
    "ending",
    "bmp gif jfif jpe jpeg jpg png tif tiff webp BMP GIF JPE JPG Tif TIFF WebP".split(),
)
def test_every_usual_ending_is_a_picture(lay_out, ending, capsys):
    root = lay_out({f"x/1.{ending}": None})
    assert read_image_folder(root).ids.tolist() == [f"x/1.{ending}"]
    assert not capsys.readouterr().err


def test_other_endings_are_left_out_and_counted(lay_out, capsys):
    root = lay_out({"x/1.jpg": None, "x/2.heic": "", "x/deep/notes.txt": "", "a": ""})
    assert read_image_folder(root).ids.tolist() == ["x/1.jpg"]
    said = capsys.readouterr().err
    assert "3 no picture by their names (a, x/2.heic, x/deep/notes.txt)" in said


def test_class_of_which_all_is_left_out_says_what(lay_out, capsys):
    with pytest.raises(ValueError, match="x: expected pictures"):
        read_image_folder(lay_out({"x/1.heic": ""}))
    assert "x/1.heic" in capsys.readouterr().err


def test_linked_folders_are_followed(lay_out, tmp_path):
    elsewhere = lay_out(dict.fromkeys(["cats/1.jpg", "more/2.jpg"]), tmp_path / "other")
    root = lay_out({"dog/3.jpg": None}, tmp_path / "set")
    (root / "cat").symlink_to(elsewhere / "cats")
    (root / "dog/more").symlink_to(elsewhere / "more")
    images = read_image_folder(root)
    assert images.ids.tolist() == ["cat/1.jpg", "dog/3.jpg", "dog/more/2.jpg"]
    assert images.labels.tolist() == ["cat", "dog", "dog"]


@pytest.mark.parametrize("target", [".", "..", "/", "../y"])
def test_links_in_a_circle_are_left_out_and_counted(lay_out, capsys, target):
    root = lay_out(dict.fromkeys(["x/1.jpg", "y/2.jpg"]))
    (root / "x/round").symlink_to(target)
    (root / "y/back").symlink_to("../x")
    found = read_image_folder(root).ids.tolist()
    assert found[0] == "x/1.jpg"
    assert len(found) <= 4
    assert "links back to a folder that they lie in (" in capsys.readouterr().err


def test_names_outside_latin_1_are_kept(lay_out):
    names = ["e\u0301/1.jpg", "写/真 \U0001f408.jpg", "שלום/a\u2028b.jpg"]
    images = read_image_folder(lay_out(dict.fromkeys(names)))
    assert sorted(images.ids.tolist()) == sorted(names)
    assert set(images.labels.tolist()) == {"写", "שלום", "e\u0301"}


def test_name_that_is_not_utf_8_is_shown(lay_out):
    root = lay_out({"x/1.jpg": None})
    with open(os.path.join(os.fsencode(root), b"x", b"M\xfcller.jpg"), "wb"):
        pass
    with pytest.raises(ValueError, match=r"expected a name in UTF-8.*M\\xfcller"):
        read_image_folder(root)
