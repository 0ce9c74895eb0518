"""ImageNet-1k (ILSVRC 2012), as distributed or as Kaggle distributes it.

Russakovsky et al., *ImageNet Large Scale Visual Recognition Challenge*, IJCV 2015.

    train/n01440764/n01440764_10026.JPEG     1,281,167 pictures, a folder a synset
    val/ILSVRC2012_val_00000001.JPEG         50,000, in one folder or a folder a synset
    ILSVRC2012_devkit_t12/data/meta.mat      which number is which synset
    ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt

Kaggle has the pictures in `ILSVRC/Data/CLS-LOC` and, in place of the devkit,
`LOC_val_solution.csv`.
"""

from __future__ import annotations

import os
import pathlib
import re

import numpy as np

from keras_bct.data.csv_list import read_rows
from keras_bct.data.folder_listing import FolderListing, is_picture
from keras_bct.data.image_folder import read_image_folder
from keras_bct.data.image_list import ImageList
from keras_bct.data.image_preparation import Preparation
from keras_bct.data.line_error import LineError, read_fields, whole_number

PREPARATION = Preparation(height=224, width=224, shorter_side=256)
"""The centre of 224 pixels of a picture whose shorter side is 256."""

_SYNSET = re.compile(r"n[0-9]{8}")
_TRAIN_NAME = re.compile(r"(?P<synset>n[0-9]{8})_[0-9]+\.JPEG")
_VAL_NAME = re.compile(r"ILSVRC2012_val_(?P<number>[0-9]{8})\.JPEG")
_PARTS = ("train", "val")
_DEVKIT = pathlib.Path("ILSVRC2012_devkit_t12", "data")


def read_imagenet(directory: str | os.PathLike[str], part: str) -> ImageList:
    """List the pictures of one part; the labels are synsets such as `n01440764`.

    Args:
        directory: the folder that holds `train` and `val`, or Kaggle's `ILSVRC`.
        part: `train` or `val`.

    Returns:
        The pictures; ids are their files' names.

    Raises:
        FileNotFoundError: no folder of the part, or no ground truth of the
            validation pictures.
        LineError: a line of the ground truth that is wrong.
        ValueError: a folder or a file with a name of another form, or as many
            pictures as the ground truth has not.
        ImportError: SciPy, which reads the devkit's `meta.mat`, is not installed.
    """
    if part not in _PARTS:
        raise ValueError(
            f"`part` should be one of {', '.join(_PARTS)}. Received: {part!r}"
        )
    root = pathlib.Path(directory)
    places = [root / part, root / f"ILSVRC2012_img_{part}"]
    for above in (root, root / "ILSVRC"):
        places.append(above / "Data" / "CLS-LOC" / part)
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise FileNotFoundError(
            f"ImageNet's part {part!r} should be in one of "
            f"{', '.join(map(str, places))}. Received: none of them"
        )
    flat = part == "val" and any(is_picture(name) for name in os.listdir(folder))
    images = _read_flat(root, folder) if flat else _read_synsets(folder, part)
    names = [pathlib.PurePath(path).name for path in images.paths]
    return ImageList(np.array(names), images.paths, images.labels)


def _read_synsets(folder: pathlib.Path, part: str) -> ImageList:
    images = read_image_folder(folder)
    form = _TRAIN_NAME if part == "train" else _VAL_NAME
    for label, path in zip(images.labels.tolist(), images.paths, strict=True):
        if not _SYNSET.fullmatch(label):
            raise ValueError(
                f"{folder / label}: expected a folder named for its synset, such as "
                f"n01440764. Received: {label!r}"
            )
        name = pathlib.PurePath(path).name
        parts = form.fullmatch(name)
        if parts is None or parts.groupdict().get("synset", label) != label:
            example = f"{label}_10026" if part == "train" else "ILSVRC2012_val_00000001"
            raise ValueError(
                f"{path}: expected a name such as {example}.JPEG. Received: {name!r}"
            )
    return images


def _read_flat(root: pathlib.Path, folder: pathlib.Path) -> ImageList:
    listing = FolderListing(folder)
    names = []
    for name in listing.entries():
        if not is_picture(name):
            listing.leave_out(folder / name)
            continue
        names.append(name)
        if not _VAL_NAME.fullmatch(name):
            raise ValueError(
                f"{folder / name}: expected a name such as "
                f"ILSVRC2012_val_00000001.JPEG. Received: {name!r}"
            )
    listing.report()
    truth, synsets = _ground_truth(root)
    stems = [pathlib.PurePath(name).stem for name in names]
    lacking = sorted(set(stems) ^ set(synsets))
    if lacking:
        raise ValueError(
            f"{truth} should name each of the {len(names)} pictures of {folder}. "
            f"Received: {len(synsets)} synsets, and {lacking[0]} on one side only"
        )
    return ImageList(
        ids=np.array(names),
        paths=tuple(os.path.join(folder, name) for name in names),
        labels=np.array([synsets[stem] for stem in stems]),
    )


def _ground_truth(root: pathlib.Path) -> tuple[pathlib.Path, dict[str, str]]:
    """Return the synset of every validation picture, by its name without suffix."""
    devkit = root / _DEVKIT / "ILSVRC2012_validation_ground_truth.txt"
    solution = root / "LOC_val_solution.csv"
    if solution.is_file():
        return solution, _read_solution(solution)
    if not devkit.is_file():
        raise FileNotFoundError(
            "Validation pictures that lie in one folder need their ground truth: "
            f"{devkit} with meta.mat, or {solution}. Received: neither. Unpack the "
            "devkit there, or sort the pictures into a folder a synset."
        )
    synsets_by_number = _read_meta(devkit.with_name("meta.mat"))
    synsets = {}
    expected = f"a number from 1 to {len(synsets_by_number)}"
    for line, (text,) in read_fields(devkit, 1, expected):
        number = whole_number(devkit, line, text, expected)
        if number not in synsets_by_number:
            raise LineError(devkit, line, expected, text)
        # The n-th line is about the n-th picture.
        synsets[f"ILSVRC2012_val_{line:08d}"] = synsets_by_number[number]
    return devkit, synsets


def _read_meta(path: pathlib.Path) -> dict[int, str]:
    """Return the synset of every `ILSVRC2012_ID`, which is not the sorted order."""
    try:
        import scipy.io
    except ImportError as error:
        raise ImportError(
            f"{path} is a MATLAB file, which SciPy reads. Install scipy, or sort the "
            "validation pictures into a folder a synset."
        ) from error
    try:
        records = scipy.io.loadmat(path, squeeze_me=True)["synsets"]
        pairs = zip(
            np.atleast_1d(records["ILSVRC2012_ID"]),
            np.atleast_1d(records["WNID"]),
            np.atleast_1d(records["num_children"]),
            strict=True,
        )
        # Those with children are inner nodes of WordNet; no picture is labelled so.
        return {int(n): str(synset) for n, synset, children in pairs if children == 0}
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"{path}: expected the devkit's `synsets` with ILSVRC2012_ID, WNID and "
            f"num_children. Received: {error}"
        ) from error


def _read_solution(path: pathlib.Path) -> dict[str, str]:
    synsets: dict[str, str] = {}
    for line, row in read_rows(path, ["ImageId", "PredictionString"]):
        # One synset and a box for each of its objects.
        values = row["PredictionString"].split()
        if len(values) % 5 or not values or not _SYNSET.fullmatch(values[0]):
            raise LineError(
                path,
                line,
                "a synset and four numbers, or several of these",
                repr(row["PredictionString"]),
            )
        if row["ImageId"] in synsets:
            raise LineError(path, line, "a picture once", repr(row["ImageId"]))
        synsets[row["ImageId"]] = values[0]
    return synsets
