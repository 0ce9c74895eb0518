import pathlib

import numpy as np
import pytest

from keras_bct.data import draw_glyphs, glyphs
from keras_bct.data.draw_glyphs import alike_across_families, draw, likeness
from keras_bct.data.typefaces import Typeface, load_typefaces

FACES = {face.name: face for face in load_typefaces()}


def face(name, family="", file="/nowhere/font.ttf"):
    return Typeface(name, file, 0, "fonts-nowhere", "1", "MIT", family, "")


def installed(name):
    wanted = FACES[name]
    if not pathlib.Path(wanted.file).is_file():
        pytest.skip(f"the font is not installed: apt-get install {wanted.package}")
    return wanted


def test_jis_level_1_is_the_2965_kanji_of_the_standard():
    kanji = draw_glyphs.jis_level_1()
    assert len(set(kanji)) == len(kanji) == 2965
    # First and last of row 16, first of row 17, last of the level, by the code table.
    assert (kanji[0], kanji[93], kanji[94], kanji[-1]) == ("亜", "蔭", "院", "腕")


@pytest.mark.parametrize("name", ["dotgothic16", "noto-sans-jp-black"])
def test_embedded_pictures_are_drawn_again(name):
    wanted = installed(name)
    kanji = glyphs.load()
    characters = kanji.characters[::350]
    drawn = draw(wanted, characters)
    embedded = kanji.select(characters=characters, typefaces=[name]).images[:, 0]
    # Another FreeType may round an edge to the neighbouring grey.
    assert np.abs(drawn.astype(int) - embedded).mean() < 2


def test_character_that_a_typeface_lacks_is_left_blank():
    pictures = draw(installed("dotgothic16"), ("亜", "牙"))
    assert pictures[0].any()
    assert not pictures[1].any()


def test_missing_font_is_named_with_its_package():
    with pytest.raises(FileNotFoundError, match="apt-get install fonts-nowhere"):
        draw(face("lost"), ("亜",))


def test_missing_packages_are_all_named_before_anything_is_drawn(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(draw_glyphs, "load_typefaces", lambda: (face("lost"),))
    assert draw_glyphs.run([str(tmp_path / "out.npz"), "--faces", "lost"]) == 2
    assert "apt-get install fonts-nowhere" in capsys.readouterr().err
    assert not (tmp_path / "out.npz").exists()


def test_unknown_typeface_is_refused(tmp_path, capsys):
    assert draw_glyphs.run([str(tmp_path / "out.npz"), "--faces", "arial"]) == 2
    assert "Received: arial" in capsys.readouterr().err


def test_likeness_is_the_mean_correlation():
    pictures = np.random.default_rng(0).integers(0, 256, (3, 2, 4, 4), dtype=np.uint8)
    expected = [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in pictures]
    found = likeness(pictures)
    np.testing.assert_allclose(found[0, 1], np.mean(expected))
    np.testing.assert_allclose(np.diag(found), 1)


def test_copies_in_two_families_are_reported():
    one = np.random.default_rng(0).integers(0, 256, (3, 1, 4, 4), dtype=np.uint8)
    pictures = np.concatenate([one, one], axis=1)
    strangers = [face("a", family="x"), face("b", family="y")]
    ((first, second, alike),) = alike_across_families(pictures, strangers)
    assert {first, second} == {"a", "b"}
    assert alike == pytest.approx(1)
    siblings = [face("a", family="x"), face("b", family="x")]
    assert alike_across_families(pictures, siblings) == []
