import numpy as np
import pytest

from keras_bct.data import LineError, read_identities, read_vggface2
from keras_bct.data.vggface2 import Identity

PICTURES = {
    name: None
    for name in (
        "train/n000002/0001_01.jpg",
        "train/n000002/0001_02.jpg",
        "train/n000003/0016_01.jpg",
        "test/n000001/0019_01.jpg",
    )
}
LISTS = {
    "train_list.txt": (
        "n000002/0001_01.jpg\nn000002/0001_02.jpg\nn000003/0016_01.jpg\n"
    ),
    "test_list.txt": "n000001/0019_01.jpg\n",
}
# As distributed: blanks after commas, a comma at the end of most lines, and names
# with a comma in them on lines without one.
META = """\
Class_ID, Name, Sample_Num, Flag, Gender
n000001, "14th_Dalai_Lama",424,0, m,
n000002, "A_Fine_Frenzy",315,1, f,
n000003, "A._A._Gill", 205, 1, m
n000004, Robert_Downey,_Jr., 319, 1, m
"""
BOXES = """\
NAME_ID,X,Y,W,H
"n000002/0001_01",161,140,224,324
"n000002/0001_02",-1,5,20,30
"n000003/0016_01",1,2,3,4
"""
LANDMARKS = (
    "NAME_ID,P1X,P1Y,P2X,P2Y,P3X,P3Y,P4X,P4Y,P5X,P5Y\n"
    '"n000002/0001_01",1,2,3,4,5,6,7,8,9,10.5\n'
    '"n000002/0001_02",1,2,3,4,5,6,7,8,9,10\n'
    '"n000003/0016_01",1,2,3,4,5,6,7,8,9,10\n'
)


def test_lists_give_the_pictures_of_each_part(lay_out):
    root = lay_out(PICTURES | LISTS)
    train = read_vggface2(root, "train")
    assert train.ids.tolist() == LISTS["train_list.txt"].split()
    assert train.labels.tolist() == ["n000002", "n000002", "n000003"]
    assert read_vggface2(root, "test").labels.tolist() == ["n000001"]


def test_without_lists_the_folders_count(lay_out):
    train = read_vggface2(lay_out(PICTURES), "train")
    assert train.ids.tolist() == LISTS["train_list.txt"].split()


def test_identities_have_part_and_gender(lay_out):
    people = read_identities(lay_out({"meta/identity_meta.csv": META}))
    assert people["n000001"] == Identity("14th_Dalai_Lama", 424, "test", "m")
    assert people["n000002"] == Identity("A_Fine_Frenzy", 315, "train", "f")
    assert people["n000004"].name == "Robert_Downey,_Jr."
    assert len(people) == 4


def test_boxes_and_landmarks_are_joined_by_name(lay_out):
    tables = {
        "bb_landmark/loose_bb_train.csv": BOXES,
        "bb_landmark/loose_landmark_train.csv": LANDMARKS,
    }
    train = read_vggface2(lay_out(PICTURES | LISTS | tables), "train", boxes=True)
    assert train.boxes.tolist()[:2] == [[161, 140, 224, 324], [-1, 5, 20, 30]]
    np.testing.assert_array_equal(train.landmarks[0, 4], [9, 10.5])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("n2/0001_01.jpg", "a picture such as"),
        ("n000002/0001.jpg", "a picture such as"),
        ("n000002/0001_01.jpg", "stands on line 1"),
        ("n000002/0009_01.jpg", "that is there"),
        ("n000002 0001_02.jpg", "a picture such as"),
    ],
)
def test_wrong_line_of_a_list_is_named(lay_out, line, words):
    text = LISTS["train_list.txt"].replace("n000002/0001_02.jpg", line)
    root = lay_out(PICTURES | {"train_list.txt": text})
    with pytest.raises(LineError, match=rf"train_list\.txt:2: .*{words}"):
        read_vggface2(root, "train")


@pytest.mark.parametrize(
    "line",
    [
        "n2, A, 1, 1, f",
        "n000002, A, 1, 2, f",
        "n000002, A, 1, 1, x",
        "n000002, A, many, 1, f",
        "n000002, A, 1, 1",
        "n000001, A, 1, 1, f",
    ],
)
def test_wrong_line_of_the_identities_is_named(lay_out, line):
    text = META.replace('n000002, "A_Fine_Frenzy",315,1, f,', line)
    with pytest.raises(LineError, match=r"identity_meta\.csv:3"):
        read_identities(lay_out({"identity_meta.csv": text}))


def test_wrong_box_is_named(lay_out):
    tables = {"bb_landmark/loose_bb_train.csv": BOXES.replace("-1", "left")}
    with pytest.raises(LineError, match=r"loose_bb_train\.csv:3: expected numbers"):
        read_vggface2(lay_out(PICTURES | LISTS | tables), "train", boxes=True)


def test_picture_without_a_box_is_named(lay_out):
    short = BOXES.replace('"n000003/0016_01",1,2,3,4\n', "")
    tables = {"bb_landmark/loose_bb_train.csv": short}
    with pytest.raises(ValueError, match="'n000003/0016_01'"):
        read_vggface2(lay_out(PICTURES | LISTS | tables), "train", boxes=True)


def test_file_with_a_name_of_another_form_is_named(lay_out):
    root = lay_out(PICTURES | {"train/n000002/me.jpg": None})
    with pytest.raises(ValueError, match=r"me\.jpg: expected a person"):
        read_vggface2(root, "train")


def test_missing_part_and_unknown_part_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="train"):
        read_vggface2(tmp_path, "train")
    with pytest.raises(ValueError, match="train, test"):
        read_vggface2(tmp_path, "val")
    with pytest.raises(FileNotFoundError, match=r"identity_meta\.csv"):
        read_identities(tmp_path)
