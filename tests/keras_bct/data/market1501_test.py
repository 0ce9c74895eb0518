import numpy as np
import pytest

from keras_bct.data import read_market1501
from keras_bct.evaluation import EmbeddingSet, Protocol, measure

# The names are the original's, Windows' own file included.
FILES = dict.fromkeys(
    [
        "bounding_box_train/0002_c1s1_000451_03.jpg",
        "bounding_box_train/0002_c2s1_000301_01.jpg",
        "bounding_box_train/0007_c3s3_077419_03.jpg",
        "query/0001_c1s1_001051_00.jpg",
        "query/0001_c2s1_000301_00.jpg",
        "query/0003_c1s6_015971_00.jpg",
        "bounding_box_test/-1_c1s1_000401_03.jpg",
        "bounding_box_test/0000_c1s1_000151_01.jpg",
        "bounding_box_test/0001_c1s1_001051_03.jpg",
        "bounding_box_test/0001_c2s1_000301_01.jpg",
        "bounding_box_test/0003_c4s6_015641_04.jpg",
    ]
)
EXTRAS = {
    "bounding_box_train/Thumbs.db": "",
    "bounding_box_test/Thumbs.db": "",
    "query/Thumbs.db": "",
    "gt_query/0001_c1s1_001051_00_good.mat": "",
    "gt_query/0001_c1s1_001051_00_junk.mat": "",
    "gt_bbox/0001_c1s1_001051_00.jpg": "",
    "readme.txt": "",
}


@pytest.fixture
def market(lay_out):
    return lay_out(FILES | EXTRAS)


def test_files_of_other_programs_are_passed_over_and_counted(lay_out, capsys):
    hidden = [".DS_Store", "._0001_c1s1_001051_00.jpg", "@eaDir/a.jpg", ".x/b.jpg"]
    root = lay_out(FILES | {f"query/{name}": "" for name in hidden})
    assert len(read_market1501(root).queries) == 3
    assert "4 hidden or another program's own" in capsys.readouterr().err


def test_parts_are_the_folders(market):
    read = read_market1501(market)
    assert len(read.train) == 3
    assert read.queries.ids.tolist() == [
        "0001_c1s1_001051_00.jpg",
        "0001_c2s1_000301_00.jpg",
        "0003_c1s6_015971_00.jpg",
    ]
    assert read.gallery.paths[0] == str(
        market / "bounding_box_test/-1_c1s1_000401_03.jpg"
    )


def test_names_give_person_and_camera(market):
    gallery = read_market1501(market).gallery
    assert gallery.labels.tolist() == ["-1", "0000", "0001", "0001", "0003"]
    assert gallery.cameras.tolist() == ["c1", "c1", "c1", "c2", "c4"]


def test_camera_rule_and_junk_count_neither_for_nor_against(market, tmp_path):
    from keras_bct.data.market1501 import PROTOCOL

    read = read_market1501(market)
    protocol_file = tmp_path / "market.yaml"
    protocol_file.write_text(PROTOCOL)
    angle = {
        # Junk and the query's own camera come first for the query 0001_c1 and, were
        # they counted, would spoil or flatter its rank; the distractor follows.
        "-1_c1s1_000401_03.jpg": 1,
        "0001_c1s1_001051_03.jpg": 2,
        "0000_c1s1_000151_01.jpg": 3,
        "0001_c2s1_000301_01.jpg": 4,
        "0003_c4s6_015641_04.jpg": 90,
    }

    def embedded(images, degrees):
        radians = np.radians(degrees)
        vectors = np.stack([np.cos(radians), np.sin(radians)], axis=1)
        return EmbeddingSet(images.ids, images.labels, images.cameras, vectors)

    first = read.queries.take(np.array([0]))
    measured = measure(
        Protocol.from_yaml(protocol_file),
        embedded(first, [0.0]),
        embedded(read.gallery, [angle[name] for name in read.gallery.ids.tolist()]),
    )
    # What counts is: distractor, the right one in camera 2, another person.
    assert measured.values["retrieval/mAP"] == pytest.approx(1 / 2)
    assert measured.values["retrieval/CMC@1"] == 0
    assert measured.values["retrieval/CMC@5"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "0002_c7s1_000451_03.jpg",
        "0002_c1s1_000451.jpg",
        "2_c1s1_000451_03.jpg",
        "-2_c1s1_000451_03.jpg",
        "0002_c1s1_000451_03.png",
        "notes.txt",
    ],
)
def test_name_of_another_form_is_named_with_its_file(lay_out, name):
    root = lay_out(FILES | {f"bounding_box_test/{name}": ""})
    with pytest.raises(ValueError, match=f"bounding_box_test/{name}: expected a name"):
        read_market1501(root)


@pytest.mark.parametrize("name", ["-1", "0000"])
def test_query_that_is_no_person_is_refused(lay_out, name):
    root = lay_out(FILES | {f"query/{name}_c1s1_000451_00.jpg": ""})
    with pytest.raises(ValueError, match=f"expected a person. Received: {name}"):
        read_market1501(root)


def test_missing_folder_is_named(lay_out):
    root = lay_out({name: None for name in FILES if "query" not in name})
    with pytest.raises(FileNotFoundError, match=r"no folder .*query"):
        read_market1501(root)
