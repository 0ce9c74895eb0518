import importlib.resources
import subprocess
import sys

import numpy as np
import pytest

from keras_bct.data import Glyphs, glyphs


@pytest.fixture(scope="module")
def kanji():
    return glyphs.load()


@pytest.fixture
def two_by_two():
    images = np.zeros((2, 2, 4, 4), np.uint8)
    images[0, 0, 1, 2] = 255
    images[0, 1, 0, 0] = 17
    images[1, 0, 3, 3] = 136
    return Glyphs(images, ("a", "b"), ("thin", "bold"))


def test_embedded_set_has_1400_characters_in_28_typefaces(kanji):
    assert kanji.images.shape == (1400, 28, 32, 32)
    assert kanji.images.dtype == np.uint8
    assert len(set(kanji.characters)) == 1400
    assert len(set(kanji.typefaces)) == 28


def test_embedded_file_stays_under_15_megabytes():
    packed = importlib.resources.files("keras_bct.data").joinpath("glyphs.npz")
    assert len(packed.read_bytes()) < 15_000_000


def test_every_picture_shows_ink_on_black_ground(kanji):
    strongest = kanji.images.max(axis=(2, 3))
    assert strongest.min() > 100
    inked = (kanji.images > 0).mean(axis=(2, 3))
    assert 0.01 < inked.min() and inked.max() < 0.95


def test_no_picture_occurs_twice_in_one_typeface(kanji):
    # A placeholder for missing characters would.
    for column in range(len(kanji.typefaces)):
        pictures = {picture.tobytes() for picture in kanji.images[:, column]}
        assert len(pictures) == 1400


def test_characters_stand_in_the_middle(kanji):
    inked = kanji.images > 0
    for axis in (2, 3):
        lines = inked.any(axis=5 - axis)
        first = lines.argmax(axis=-1)
        last = 31 - lines[..., ::-1].argmax(axis=-1)
        off_centre = np.abs((first + last) / 2 - 15.5)
        # A hairline at one edge may be too faint to be seen in 16 greys.
        assert off_centre.max() <= 1.5
        assert off_centre.mean() < 0.25


def test_every_typeface_draws_at_one_size(kanji):
    inked = kanji.images > 0
    heights, widths = inked.any(axis=3).sum(axis=2), inked.any(axis=2).sum(axis=2)
    median = np.median(np.maximum(heights, widths), axis=0)
    assert (median >= 26).all() and (median <= 28).all()


def test_split_gives_its_characters_in_order(kanji):
    train = kanji.split("train")
    assert train.images.shape == (600, 28, 32, 32)
    assert kanji.split("train_old").characters == train.characters[:300]
    row = kanji.characters.index(train.characters[7])
    np.testing.assert_array_equal(train.images[7], kanji.images[row])


def test_unknown_part_is_refused(kanji):
    with pytest.raises(ValueError, match=r"one of train_old, .* Received: 'dev'"):
        kanji.split("dev")


def test_select_keeps_the_order_asked_for(two_by_two):
    turned = two_by_two.select(characters="ba", typefaces=["bold"])
    assert turned.characters == ("b", "a")
    assert turned.images.shape == (2, 1, 4, 4)
    assert turned.images[1, 0, 0, 0] == 17


def test_select_names_what_is_missing(two_by_two):
    with pytest.raises(ValueError, match=r"`typefaces`.*the first: 'italic'"):
        two_by_two.select(typefaces=["italic"])


def test_saved_set_loads_as_it_was(two_by_two, tmp_path):
    two_by_two.save(tmp_path / "small.npz")
    loaded = glyphs.load(tmp_path / "small.npz")
    np.testing.assert_array_equal(loaded.images, two_by_two.images)
    assert loaded.characters == ("a", "b")
    assert loaded.typefaces == ("thin", "bold")


def test_changed_file_is_refused(monkeypatch):
    monkeypatch.setattr(glyphs, "_EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(ValueError, match=r"SHA-256 0000.*install keras-bct anew"):
        glyphs.load()


def test_axes_that_disagree_with_the_names_are_refused():
    with pytest.raises(ValueError, match=r"here \(2, 1\)"):
        Glyphs(np.zeros((1, 2, 4, 4), np.uint8), ("a", "b"), ("thin",))


def test_loading_needs_no_tensorflow():
    code = (
        "import sys; from keras_bct.data import glyphs; glyphs.load();"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
