"""Market-1501: person re-identification across six cameras.

Zheng et al., *Scalable Person Re-identification: A Benchmark*, ICCV 2015. As unpacked
from `Market-1501-v15.09.15.zip`:

    bounding_box_train/0002_c1s1_000451_03.jpg    12,936 pictures of 751 people
    query/0001_c1s1_001051_00.jpg                  3,368 of 750 other people
    bounding_box_test/-1_c1s1_000401_03.jpg       19,732, the gallery

A name is person, camera, sequence, frame and box. In the gallery 0000 is a distractor:
no person's, and wrong for every query. -1 is junk, which counts neither for nor
against.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re

import numpy as np

from keras_bct.data.folder_listing import FolderListing
from keras_bct.data.image_list import ImageList
from keras_bct.data.image_preparation import Preparation

DISTRACTOR_LABEL = "0000"
"""The label of boxes of no person; no query has it."""

JUNK_LABEL = "-1"
"""The label that the protocol's `exclude: [junk]` leaves out."""

PREPARATION = Preparation(height=256, width=128)
"""What re-identification networks are fed; the boxes are 128 x 64."""

PROTOCOL = """\
# Market-1501, single query: what shows the query's person in the query's camera, and
# the junk, count neither for nor against (Zheng et al., ICCV 2015).
name: market-1501
queries: {source: tfrecord, path: queries*.tfrecord, camera: camera}
gallery: {source: tfrecord, path: gallery*.tfrecord, camera: camera}
distance: cosine
exclude: [same_camera, junk]
metrics: [retrieval/mAP, retrieval/CMC@1, retrieval/CMC@5, retrieval/CMC@10]
gate: {metrics: [retrieval/mAP]}
"""

_NAME = re.compile(
    r"(?P<person>-1|[0-9]{4})_c(?P<camera>[1-6])s[0-9]+_[0-9]{6}_[0-9]{2}\.jpg"
)


@dataclasses.dataclass(frozen=True, eq=False)
class Market1501:
    """The three parts, whose labels are the people and whose cameras are `c1` to `c6`.

    Attributes:
        train: boxes to train on; no person of the other parts is among them.
        queries: one box a person and camera.
        gallery: the boxes to search, distractors (label `0000`) and junk (`-1`) among
            them.
    """

    train: ImageList
    queries: ImageList
    gallery: ImageList


def read_market1501(directory: str | os.PathLike[str]) -> Market1501:
    """List the pictures of Market-1501.

    Args:
        directory: the folder `Market-1501-v15.09.15`.

    Returns:
        The three parts; a picture's id is its file's name.

    Raises:
        FileNotFoundError: a part's folder is not there.
        ValueError: a file with a name of another form, or a distractor or junk among
            the queries or the training pictures; the message names the file.
    """
    root = pathlib.Path(directory)
    return Market1501(
        train=_read_part(root / "bounding_box_train", people_only=True),
        queries=_read_part(root / "query", people_only=True),
        gallery=_read_part(root / "bounding_box_test", people_only=False),
    )


def _read_part(folder: pathlib.Path, *, people_only: bool) -> ImageList:
    if not folder.is_dir():
        raise FileNotFoundError(
            "Market-1501 should have the folders bounding_box_train, query and "
            f"bounding_box_test. Received: no folder {folder}"
        )
    # Windows wrote Thumbs.db into the folders of the original.
    listing = FolderListing(folder)
    names = listing.entries()
    labels, cameras = [], []
    for name in names:
        parts = _NAME.fullmatch(name)
        if parts is None:
            raise ValueError(
                f"{folder / name}: expected a name such as 0002_c1s1_000451_03.jpg "
                "(person, camera 1 to 6 and sequence, frame, box). Received: "
                f"{name!r}"
            )
        if people_only and parts["person"] in (DISTRACTOR_LABEL, JUNK_LABEL):
            raise ValueError(
                f"{folder / name}: expected a person. Received: {parts['person']}, "
                "distractors and junk belong into bounding_box_test alone"
            )
        labels.append(parts["person"])
        cameras.append(f"c{parts['camera']}")
    if not names:
        raise ValueError(f"{folder}: expected pictures. Received: an empty folder")
    listing.report()
    return ImageList(
        ids=np.array(names),
        paths=tuple(os.path.join(folder, name) for name in names),
        labels=np.array(labels),
        cameras=np.array(cameras),
    )
