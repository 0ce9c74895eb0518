import numpy as np
import pytest

from keras_bct.data import (
    LineError,
    read_ijbc_identification,
    read_ijbc_verification,
)
from keras_bct.data.ijbc import IDENTIFICATION_PROTOCOL, VERIFICATION_PROTOCOL
from keras_bct.evaluation import EmbeddingSet, Protocol, measure

# NIST's columns, whole; what follows the box is not used.
HEADER = (
    "TEMPLATE_ID,SUBJECT_ID,FILENAME,SIGHTING_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT,"
    "FRAME_NUM,FACIAL_HAIR,AGE,INDOOR_OUTDOOR,SKINTONE,GENDER,YAW,ROLL,"
    + ",".join(f"OCC{number}" for number in range(1, 19))
)
REST = ",,0,3,1,2,1,-6.1,2.4" + ",0" * 18
ROWS = {
    # Two people in G1, the first of them with a picture and two frames of a video.
    "gallery_G1": [
        "1,101,img/69544.jpg,69544,160,66,164,241",
        "1,101,frames/3720.png,3720,10,20,30,40",
        "1,101,frames/3721.png,3720,11,21,31,41",
        "2,102,img/12.jpg,12,1,2,3,4",
    ],
    "gallery_G2": ["3,103,img/13.jpg,13,1,2,3,4"],
    "probe_mixed": [
        "11065,101,img/14.jpg,14,1,2,3,4",
        "11066,103,frames/5.png,5,1,2,3,4",
        "11066,103,img/69544.jpg,15,1,2,3,4",
    ],
}
PICTURES = dict.fromkeys(
    f"images/{row.split(',')[2]}" for rows in ROWS.values() for row in rows
)
MATCHES = "1,11065\n2,11065\n3,11066\n1,11066\n"


def lists(folder, changes=None):
    rows = ROWS | (changes or {})
    return {
        f"{folder}/ijbc_1N_{name}.csv": "\n".join(
            [HEADER, *(line + REST for line in lines), ""]
        )
        for name, lines in rows.items()
    }


def nist(changes=None, matches=MATCHES):
    return (
        PICTURES
        | lists("protocols", changes)
        | {"protocols/ijbc_11_G1_G2_matches.csv": matches}
    )


FACES = """\
1.jpg 1 69544
2.jpg 1 3720
3.jpg 1 3720
4.jpg 2 12
5.jpg 3 13
6.jpg 11065 14
7.jpg 11066 5
8.jpg 11066 15
"""
PAIRS = "1 11065 1\n2 11065 0\n3 11066 1\n1 11066 0\n"
POINTS = "".join(
    f"{n}.jpg 46.060 62.026 87.785 60.323 68.851 77.656 52.162 99.875 86.450 98.648 "
    f"0.9{n}\n"
    for n in range(1, 9)
)


def community(*, faces=FACES, pairs=PAIRS, points=POINTS):
    files = {f"loose_crop/{n}.jpg": None for n in range(1, 9)} | {
        "meta/ijbc_face_tid_mid.txt": faces,
        "meta/ijbc_template_pair_label.txt": pairs,
    }
    return files | ({"meta/ijbc_name_5pts_score.txt": points} if points else {})


def test_gallery_has_templates_subjects_and_media(lay_out):
    root = lay_out(nist())
    gallery = read_ijbc_identification(root, gallery="G1").gallery
    assert gallery.templates.tolist() == ["1", "1", "1", "2"]
    assert gallery.labels.tolist() == ["101", "101", "101", "102"]
    # The frames of one video share a medium.
    assert gallery.media.tolist() == ["69544", "3720", "3720", "12"]
    assert gallery.boxes[1].tolist() == [10, 20, 30, 40]
    assert gallery.paths[1] == str(root / "images/frames/3720.png")


def test_probes_of_the_other_gallery_have_no_mate(lay_out):
    root = lay_out(nist())
    one, two = (read_ijbc_identification(root, gallery=name) for name in ("G1", "G2"))
    probes = set(one.queries.labels.tolist())
    assert probes - set(one.gallery.labels.tolist()) == {"103"}
    assert probes - set(two.gallery.labels.tolist()) == {"101"}


def test_one_picture_in_two_templates_has_two_ids(lay_out):
    verification = read_ijbc_verification(lay_out(nist()))
    file = "img/69544.jpg"
    ids = [*verification.queries.ids, *verification.gallery.ids]
    assert sum(str(name).endswith(file) for name in ids) == 2
    assert len(set(ids)) == len(ids)


def test_first_templates_of_the_pairs_are_the_queries(lay_out, tmp_path):
    verification = read_ijbc_verification(lay_out(nist()))
    assert set(verification.queries.templates.tolist()) == {"1", "2", "3"}
    assert set(verification.gallery.templates.tolist()) == {"11065", "11066"}
    verification.write_pairs(tmp_path / "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text() == (
        "query,gallery\n1,11065\n2,11065\n3,11066\n1,11066\n"
    )


def test_the_communitys_form_says_the_same_as_nists(lay_out, tmp_path):
    one = read_ijbc_verification(lay_out(nist(), tmp_path / "nist"))
    two = read_ijbc_verification(
        lay_out(community() | lists("meta"), tmp_path / "community")
    )
    np.testing.assert_array_equal(one.template_pairs, two.template_pairs)
    for side in ("queries", "gallery"):
        a, b = getattr(one, side), getattr(two, side)
        for column in ("templates", "labels", "media"):
            assert getattr(a, column).tolist() == getattr(b, column).tolist()


def test_the_communitys_form_has_landmarks(lay_out):
    queries = read_ijbc_verification(lay_out(community())).queries
    assert queries.landmarks.shape == (5, 5, 2)
    np.testing.assert_allclose(queries.landmarks[0, 1], [87.785, 60.323], rtol=1e-6)
    without = lay_out(community(points=""), queries.paths[0] + "-elsewhere")
    assert read_ijbc_verification(without).queries.landmarks is None


def test_without_the_files_of_1n_subjects_follow_from_the_pairs(lay_out):
    verification = read_ijbc_verification(lay_out(community()))
    assert verification.queries.labels.tolist() == [
        "template-1",
        "template-1",
        "template-1",
        "template-2",
        "template-3",
    ]
    assert verification.gallery.labels.tolist() == [
        "template-1",
        "template-3",
        "template-3",
    ]


def test_identification_in_the_communitys_form(lay_out):
    read = read_ijbc_identification(lay_out(community() | lists("meta")), gallery="G2")
    assert read.gallery.ids.tolist() == ["5.jpg"]
    assert read.gallery.labels.tolist() == ["103"]
    assert read.queries.labels.tolist() == ["101", "103", "103"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1,101,img/69544.jpg,69544,160,66,164,241", "what stands on line 2"),
        ("1,102,img/12.jpg,12,1,2,3,4", "the subject of template 1, 101"),
        ("1,x,img/12.jpg,12,1,2,3,4", "numbers in TEMPLATE_ID and SUBJECT_ID"),
        ("1,101,img/12.jpg,12,1,2,,4", "a box in FACE_X.*nothing"),
        ("1,101,img/12.jpg,12,1,2,0,4", "a box in FACE_X"),
        ("1,101,img/9.jpg,12,1,2,3,4", r"that is there.*9\.jpg"),
        ("1,101,img/12.jpg,12,1,2,3", "34 values"),
    ],
)
def test_wrong_line_of_a_template_is_named(lay_out, line, words):
    rows = [*ROWS["gallery_G1"][:1], line, *ROWS["gallery_G1"][3:]]
    root = lay_out(nist({"gallery_G1": rows}))
    with pytest.raises(LineError, match=rf"gallery_G1\.csv:3: .*{words}"):
        read_ijbc_identification(root)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2", "two templates"),
        ("2,11065,1", "two templates"),
        ("2,x", "two templates"),
        ("2,-1", "two templates"),
        ("", "two templates"),
        ("2,99", "template 99, which has none"),
    ],
)
def test_wrong_pair_is_named(lay_out, line, words):
    root = lay_out(nist(matches=MATCHES.replace("2,11065", line)))
    with pytest.raises(LineError, match=rf"matches\.csv:2: .*{words}"):
        read_ijbc_verification(root)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2 11065", "two templates and 1"),
        ("2 11065 2", "two templates and 1"),
        ("2 11065 x", "two templates and 1"),
        ("2 99 0", "template 99"),
        ("2 11065 1", "fits the templates' subjects, 0"),
    ],
)
def test_wrong_pair_of_the_community_is_named(lay_out, line, words):
    pairs = PAIRS.replace("2 11065 0", line)
    root = lay_out(community(pairs=pairs) | lists("meta"))
    with pytest.raises(LineError, match=rf"pair_label\.txt:2: .*{words}"):
        read_ijbc_verification(root)


def test_pairs_that_contradict_each_other_are_named(lay_out):
    # 1 and 11065 are one person, 2 and 11065 too; then 1 and 2 are no impostors.
    root = lay_out(community(pairs="1 11065 1\n2 11065 1\n1 2 0\n"))
    with pytest.raises(LineError, match=r"pair_label\.txt:3: .*subjects, 1"):
        read_ijbc_verification(root)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2.jpg 1", "a picture, its template"),
        ("2.jpg one 3720", "a picture, its template"),
        ("1.jpg 1 3720", "stands on line 1"),
        ("9.jpg 1 3720", "that is there"),
    ],
)
def test_wrong_face_is_named(lay_out, line, words):
    faces = FACES.replace("2.jpg 1 3720", line)
    root = lay_out(community(faces=faces))
    with pytest.raises(LineError, match=rf"tid_mid\.txt:2: .*{words}"):
        read_ijbc_verification(root)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("2.jpg 46.060", "2.jpg left", 2),
        ("2.jpg 46.060", "3.jpg 46.060", 2),
        ("2.jpg 46.060 ", "2.jpg ", 2),
        (POINTS[POINTS.index("8.jpg") :], "", 8),
    ],
)
def test_wrong_landmarks_are_named(lay_out, old, new, line):
    root = lay_out(community(points=POINTS.replace(old, new)))
    with pytest.raises(LineError, match=rf"5pts_score\.txt:{line}"):
        read_ijbc_verification(root)


def test_column_that_is_missing_is_named(lay_out):
    text = "TEMPLATE_ID,SUBJECT_ID\n1,101\n"
    root = lay_out(nist() | {"protocols/ijbc_1N_gallery_G1.csv": text})
    with pytest.raises(LineError, match=r"gallery_G1\.csv:1: .*'FILENAME' among them"):
        read_ijbc_identification(root)


def test_other_galleries_probes_and_folders_are_refused(lay_out, tmp_path):
    with pytest.raises(ValueError, match="G1 or G2"):
        read_ijbc_identification(tmp_path, gallery="G3")
    with pytest.raises(ValueError, match="mixed, img, video"):
        read_ijbc_identification(tmp_path, probes="all")
    with pytest.raises(FileNotFoundError, match="protocols and images"):
        read_ijbc_identification(tmp_path)


@pytest.fixture
def embedded():
    """Embeds pictures by hand; a template's direction is what its media's mean gives.

    Template 1 is a picture (1, 0) and a video whose frames have the mean (0, 3), so it
    points to (1, 3). Were its three pictures averaged at once, it would point to
    (1, 6), where template 2 is, and would be no better a match than that impostor.
    """
    vectors = {
        "img/69544.jpg": {"1": (1, 0), "11066": (-1, 0)},
        "frames/3720.png": {"1": (0, 2)},
        "frames/3721.png": {"1": (0, 4)},
        "img/12.jpg": {"2": (1, 6)},
        "img/13.jpg": {"3": (0, -1)},
        "img/14.jpg": {"11065": (1, 3)},
        "frames/5.png": {"11066": (-1, 0)},
    }

    def embed(images):
        names = [str(name).split("/", 2)[2] for name in images.ids]
        rows = [
            vectors[name][str(template)]
            for name, template in zip(names, images.templates, strict=True)
        ]
        return EmbeddingSet(
            ids=images.ids,
            labels=images.labels,
            cameras=None,
            embeddings=np.array(rows, np.float32),
            templates=images.templates,
            media=images.media,
        )

    return embed


def test_verification_by_templates_and_pairs(lay_out, tmp_path, embedded):
    read = read_ijbc_verification(lay_out(nist(), tmp_path / "ijbc"))
    read.write_pairs(tmp_path / "pairs.csv")
    text = VERIFICATION_PROTOCOL.format(queries="q.tfrecord", gallery="g.tfrecord")
    (tmp_path / "p.yaml").write_text(text)
    measured = measure(
        Protocol.from_yaml(tmp_path / "p.yaml"),
        embedded(read.queries),
        embedded(read.gallery),
    )
    # Of the genuine pairs 1-11065 scores 1 and 3-11066 scores 0; of the impostors
    # 2-11065 scores 19 / sqrt(370) = 0.988 and no false accept is allowed.
    assert measured.values["verification/TAR@FAR=0.0001"] == pytest.approx(1 / 2)


def test_open_set_search_in_a_gallery(lay_out, tmp_path, embedded):
    read = read_ijbc_identification(lay_out(nist(), tmp_path / "ijbc"), gallery="G1")
    text = IDENTIFICATION_PROTOCOL.format(gallery="gallery-g1")
    (tmp_path / "p.yaml").write_text(text)
    measured = measure(
        Protocol.from_yaml(tmp_path / "p.yaml"),
        embedded(read.queries),
        embedded(read.gallery),
    )
    # 11065 finds template 1 before 2; 11066 has no mate here and is near nobody.
    assert measured.values["identification/TPIR@FPIR=0.01"] == pytest.approx(1)
