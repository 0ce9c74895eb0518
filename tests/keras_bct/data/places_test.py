import pytest

from keras_bct.data import LineError, read_places365

LISTS = {
    "categories_places365.txt": (
        "/a/airfield 0\n/a/apartment_building/outdoor 1\n/b/bakery/shop 2\n"
    ),
    "places365_train_standard.txt": (
        "/a/airfield/00000001.jpg 0\n"
        "/a/airfield/00000002.jpg 0\n"
        "/a/apartment_building/outdoor/00000001.jpg 1\n"
        "/b/bakery/shop/00000001.jpg 2\n"
    ),
    "places365_val.txt": (
        "Places365_val_00000001.jpg 2\nPlaces365_val_00000002.jpg 0\n"
    ),
}
TRAIN = {
    f"data_256/{name}": None
    for name in (
        "a/airfield/00000001.jpg",
        "a/airfield/00000002.jpg",
        "a/apartment_building/outdoor/00000001.jpg",
        "b/bakery/shop/00000001.jpg",
    )
}
VAL = {f"val_256/Places365_val_{number:08d}.jpg": None for number in (1, 2)}


def test_training_pictures_are_labelled_by_their_category(lay_out):
    images = read_places365(lay_out(LISTS | TRAIN), "train")
    assert images.labels.tolist() == [
        "airfield",
        "airfield",
        "apartment_building/outdoor",
        "bakery/shop",
    ]
    assert images.ids[2] == "a/apartment_building/outdoor/00000001.jpg"


def test_validation_pictures_are_labelled_by_number(lay_out):
    images = read_places365(lay_out(LISTS | VAL), "val")
    assert images.ids.tolist()[0] == "Places365_val_00000001.jpg"
    assert images.labels.tolist() == ["bakery/shop", "airfield"]


def test_large_pictures_lie_in_a_folder_of_another_name(lay_out):
    files = {name.replace("data_256", "data_large_standard"): None for name in TRAIN}
    images = read_places365(lay_out(LISTS | files), "train")
    assert "data_large_standard" in images.paths[0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/a/airfield/00000002.jpg", "a picture's file and the number"),
        ("/a/airfield/00000002.jpg 3", "a category from 0 to 2"),
        ("/a/airfield/00000002.jpg 2", "category 2, /b/bakery/shop"),
        ("/a/airfield/00000001.jpg 0", "stands on line 1"),
        ("/a/airfield/00000009.jpg 0", r"that is there.*00000009\.jpg"),
    ],
)
def test_wrong_line_is_named(lay_out, line, words):
    name = "places365_train_standard.txt"
    lines = LISTS[name].splitlines()
    lines[1] = line
    root = lay_out(LISTS | TRAIN | {name: "\n".join(lines)})
    with pytest.raises(LineError, match=rf"standard\.txt:2: .*{words}"):
        read_places365(root, "train")


@pytest.mark.parametrize("line", ["a/airfield 1", "/airfield 1", "/b/bakery/shop 7"])
def test_wrong_category_is_named(lay_out, line):
    name = "categories_places365.txt"
    root = lay_out(LISTS | TRAIN | {name: f"/a/airfield 0\n{line}\n"})
    with pytest.raises(LineError, match=r"categories_places365\.txt:2"):
        read_places365(root, "train")


def test_missing_pictures_and_unknown_part_are_refused(lay_out):
    root = lay_out(LISTS)
    with pytest.raises(FileNotFoundError, match="data_256_standard"):
        read_places365(root, "train")
    with pytest.raises(ValueError, match="train, val"):
        read_places365(root, "test")
