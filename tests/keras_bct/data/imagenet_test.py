import numpy as np
import pytest
import scipy.io

from keras_bct.data import LineError, read_imagenet

TRAIN = dict.fromkeys(
    [
        "train/n01440764/n01440764_10026.JPEG",
        "train/n01440764/n01440764_10027.JPEG",
        "train/n02119789/n02119789_122.JPEG",
    ]
)
FLAT = {f"val/ILSVRC2012_val_{number:08d}.JPEG": None for number in (1, 2, 3)}
SORTED = {
    "val/n01440764/ILSVRC2012_val_00000003.JPEG": None,
    "val/n02119789/ILSVRC2012_val_00000001.JPEG": None,
    "val/n02119789/ILSVRC2012_val_00000002.JPEG": None,
}
DEVKIT = "ILSVRC2012_devkit_t12/data"
TRUTH = f"{DEVKIT}/ILSVRC2012_validation_ground_truth.txt"
SOLUTION = """\
ImageId,PredictionString
ILSVRC2012_val_00000003,n01440764 85 1 499 272
ILSVRC2012_val_00000001,n02119789 111 108 441 193 n02119789 1 2 30 40
ILSVRC2012_val_00000002,n02119789 0 0 9 9
"""


def add_devkit(root, truth="1\n1\n2\n"):
    """Writes meta.mat with the original's fields; its order is not that of synsets."""
    fields = [
        ("ILSVRC2012_ID", object),
        ("WNID", object),
        ("words", object),
        ("gloss", object),
        ("num_children", object),
        ("children", object),
        ("wordnet_height", object),
        ("num_train_images", object),
    ]
    synsets = np.zeros((3, 1), fields)
    synsets[0, 0] = (1, "n02119789", "kit fox", "...", 0, np.zeros((1, 0)), 0, 1300)
    synsets[1, 0] = (2, "n01440764", "tench", "...", 0, np.zeros((1, 0)), 0, 1300)
    synsets[2, 0] = (1001, "n01317541", "animal", "...", 2, np.array([1, 2]), 1, 0)
    (root / DEVKIT).mkdir(parents=True)
    scipy.io.savemat(
        root / DEVKIT / "meta.mat", {"synsets": synsets}, do_compression=True
    )
    (root / TRUTH).write_text(truth)
    return root


def labels_by_id(images):
    return dict(zip(images.ids.tolist(), images.labels.tolist(), strict=True))


def test_training_pictures_are_labelled_by_their_synset(lay_out):
    images = read_imagenet(lay_out(TRAIN), "train")
    assert labels_by_id(images) == {
        "n01440764_10026.JPEG": "n01440764",
        "n01440764_10027.JPEG": "n01440764",
        "n02119789_122.JPEG": "n02119789",
    }


EXPECTED = {
    "ILSVRC2012_val_00000001.JPEG": "n02119789",
    "ILSVRC2012_val_00000002.JPEG": "n02119789",
    "ILSVRC2012_val_00000003.JPEG": "n01440764",
}


def test_validation_pictures_in_one_folder_are_labelled_by_the_devkit(lay_out):
    root = add_devkit(lay_out(FLAT))
    assert labels_by_id(read_imagenet(root, "val")) == EXPECTED


def test_validation_pictures_are_labelled_by_kaggles_solution(lay_out):
    files = {f"ILSVRC/Data/CLS-LOC/{name}": None for name in FLAT}
    root = lay_out(files | {"LOC_val_solution.csv": SOLUTION})
    assert labels_by_id(read_imagenet(root, "val")) == EXPECTED


def test_validation_pictures_in_a_folder_a_synset_need_no_truth(lay_out):
    assert labels_by_id(read_imagenet(lay_out(SORTED), "val")) == EXPECTED


@pytest.mark.parametrize("truth", ["1\n9\n2\n", "1\nx\n2\n", "1\n1001\n2\n"])
def test_wrong_line_of_the_ground_truth_is_named(lay_out, truth):
    root = add_devkit(lay_out(FLAT), truth)
    with pytest.raises(LineError, match=r"ground_truth\.txt:2: expected a number from"):
        read_imagenet(root, "val")


def test_ground_truth_of_another_length_is_refused(lay_out):
    root = add_devkit(lay_out(FLAT), "1\n2\n")
    with pytest.raises(ValueError, match="ILSVRC2012_val_00000003 on one side"):
        read_imagenet(root, "val")


def test_wrong_line_of_the_solution_is_named(lay_out):
    wrong = SOLUTION.replace("n02119789 0 0 9 9", "n02119789 0 0 9")
    root = lay_out(FLAT | {"LOC_val_solution.csv": wrong})
    with pytest.raises(LineError, match=r"LOC_val_solution\.csv:4"):
        read_imagenet(root, "val")


def test_missing_ground_truth_is_said_to_be_needed(lay_out):
    with pytest.raises(FileNotFoundError, match=r"LOC_val_solution\.csv"):
        read_imagenet(lay_out(FLAT), "val")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("train/fish/n01440764_1.JPEG", "train/fish: expected a folder"),
        ("train/n01440764/n02119789_1.JPEG", r"n02119789_1\.JPEG: expected a name"),
        ("train/n01440764/1.JPEG", r"1\.JPEG: expected a name"),
    ],
)
def test_name_of_another_form_is_named_with_its_file(lay_out, name, words):
    with pytest.raises(ValueError, match=words):
        read_imagenet(lay_out(TRAIN | {name: None}), "train")


def test_missing_part_and_unknown_part_are_refused(lay_out):
    root = lay_out(TRAIN)
    with pytest.raises(FileNotFoundError, match="'val'"):
        read_imagenet(root, "val")
    with pytest.raises(ValueError, match=r"train, val.*'test'"):
        read_imagenet(root, "test")


def test_files_of_other_programs_among_the_validation_pictures_are_counted(
    lay_out, capsys
):
    hidden = [
        "val/.DS_Store",
        "val/._ILSVRC2012_val_00000001.JPEG",
        "val/@eaDir/a.JPEG",
    ]
    root = add_devkit(lay_out(FLAT | dict.fromkeys(hidden, "")))
    assert labels_by_id(read_imagenet(root, "val")) == EXPECTED
    assert "3 hidden or another program's own" in capsys.readouterr().err
