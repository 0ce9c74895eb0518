"""IJB-C: faces of 3,531 people in templates, as NIST and as the community has it.

Maze et al., *IARPA Janus Benchmark - C: Face Dataset and Protocol*, ICB 2018. A
template is one person's media, a medium is a picture or the frames of one video. As
NIST distributes it, with whole pictures and a box for each face:

    protocols/ijbc_1N_gallery_G1.csv, ..._G2.csv, ijbc_1N_probe_mixed.csv
        TEMPLATE_ID,SUBJECT_ID,FILENAME,SIGHTING_ID,FACE_X,FACE_Y,FACE_WIDTH,...
    protocols/ijbc_11_G1_G2_matches.csv                       1,11065
    images/img/69544.jpg, images/frames/3720.png

and as the face recognition community passes it on, with loose crops and landmarks:

    meta/ijbc_face_tid_mid.txt                 1.jpg 1 69544       469,375 lines
    meta/ijbc_template_pair_label.txt          1 11065 1        15,658,489 lines
    meta/ijbc_name_5pts_score.txt              1.jpg 46.060 62.026 ... 0.9999
    meta/ijbc_1N_gallery_G1.csv, ...           for 1:N; templates and subjects count
    loose_crop/1.jpg

In 1:1 the first template of a pair is of a gallery and the second one a probe. BCT
embeds the first with the new model and the second with the old one, so the first ones
are the queries.
"""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import numpy.typing as npt

from keras_bct.data.ijbc_layout import open_layout
from keras_bct.data.image_list import ImageList
from keras_bct.data.image_preparation import Preparation

Integers = npt.NDArray[np.int64]

PREPARATION = Preparation(height=112, width=112, box_margin=0.3)
"""BCT's size: aligned where there are landmarks, else the box with a margin."""

PROBES = ("mixed", "img", "video")
"""The kinds of probes; the paper's search takes `mixed`."""

VERIFICATION_PROTOCOL = """\
# IJB-C 1:1: the first template of each pair is the query (BCT, section 3.3).
name: ijb-c-verification
queries: {{source: tfrecord, path: {queries}, template: template, medium: medium}}
gallery: {{source: tfrecord, path: {gallery}, template: template, medium: medium}}
pairs: pairs.csv
distance: cosine
exclude: []
metrics: ["verification/TAR@FAR=0.0001", "verification/TAR@FAR=0.00001"]
gate: {{metrics: ["verification/TAR@FAR=0.0001"]}}
"""

IDENTIFICATION_PROTOCOL = """\
# IJB-C 1:N, open set: mixed probes in {gallery}; those of the other gallery's
# people have no mate.
name: ijb-c-identification-{gallery}
queries:
  {{source: tfrecord, path: probes*.tfrecord, template: template, medium: medium}}
gallery:
  {{source: tfrecord, path: {gallery}*.tfrecord, template: template, medium: medium}}
distance: cosine
exclude: []
metrics: ["identification/TPIR@FPIR=0.01", "identification/TPIR@FPIR=0.1"]
gate: {{metrics: ["identification/TPIR@FPIR=0.01"]}}
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Verification:
    """1:1: pairs of templates.

    Attributes:
        queries: the pictures of the pairs' first templates.
        gallery: those of their second ones.
        template_pairs: int64, shape (k, 2), templates by their numbers.
    """

    queries: ImageList
    gallery: ImageList
    template_pairs: Integers

    def write_pairs(self, path: str | os.PathLike[str]) -> None:
        """Write the pairs for the key `pairs` of a protocol: `query,gallery`."""
        from pyarrow import csv, table

        columns = {
            name: self.template_pairs[:, column]
            for column, name in enumerate(("query", "gallery"))
        }
        with open(path, "wb") as file:
            # Arrow would put the names of the columns in quotes.
            file.write(b"query,gallery\n")
            csv.write_csv(table(columns), file, csv.WriteOptions(include_header=False))


@dataclasses.dataclass(frozen=True, eq=False)
class Identification:
    """1:N, open set: probes with and without a mate in one gallery.

    Attributes:
        queries: the pictures of the probes.
        gallery: those of the gallery's templates, one template a person.
    """

    queries: ImageList
    gallery: ImageList


def read_ijbc_verification(directory: str | os.PathLike[str]) -> Verification:
    """Read the 1:1 protocol; the labels are subjects.

    Args:
        directory: the folder with `protocols` and `images`, or with `meta` and
            `loose_crop`.

    Raises:
        FileNotFoundError: a file or folder of the protocol is not there.
        LineError: a line that is malformed, that contradicts another, or names a
            picture or a template that is not there.
    """
    layout = open_layout(directory)
    pairs = layout.pairs()
    return Verification(
        queries=layout.pictures(np.unique(pairs[:, 0])),
        gallery=layout.pictures(np.unique(pairs[:, 1])),
        template_pairs=pairs,
    )


def read_ijbc_identification(
    directory: str | os.PathLike[str], *, gallery: str = "G1", probes: str = "mixed"
) -> Identification:
    """Read the 1:N protocol; the labels are subjects.

    Args:
        directory: the folder with `protocols` and `images`, or with `meta` and
            `loose_crop`.
        gallery: `G1` or `G2`: each is searched on its own.
        probes: `mixed`, `img` or `video`.

    Raises:
        FileNotFoundError: a file or folder of the protocol is not there.
        LineError: a line that is malformed, that contradicts another, or names a
            picture or a template that is not there.
        ValueError: another gallery or another kind of probes.
    """
    if gallery not in ("G1", "G2"):
        raise ValueError(f"`gallery` should be G1 or G2. Received: {gallery!r}")
    if probes not in PROBES:
        raise ValueError(
            f"`probes` should be one of {', '.join(PROBES)}. Received: {probes!r}"
        )
    layout = open_layout(directory)
    return Identification(
        queries=layout.listed(f"ijbc_1N_probe_{probes}.csv"),
        gallery=layout.listed(f"ijbc_1N_gallery_{gallery}.csv"),
    )
