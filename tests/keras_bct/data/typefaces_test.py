import importlib.resources
import re

import numpy as np
import pytest

from keras_bct.data import glyphs
from keras_bct.data.draw_glyphs import alike_across_families
from keras_bct.data.typefaces import load_typefaces

OPEN_LICENCES = {"OFL-1.1", "Apache-2.0", "MIT", "IPA", "public domain"}


@pytest.fixture(scope="module")
def embedded():
    return [face for face in load_typefaces() if face.role]


@pytest.fixture(scope="module")
def notice():
    file = importlib.resources.files("keras_bct.data").joinpath("NOTICE")
    return file.read_text(encoding="utf-8")


def test_every_typeface_is_openly_licensed():
    assert {face.licence for face in load_typefaces()} == OPEN_LICENCES


def test_names_are_unique():
    names = [face.name for face in load_typefaces()]
    assert len(set(names)) == len(names) == 60


def test_table_and_embedded_set_name_the_same_typefaces(embedded):
    assert tuple(face.name for face in embedded) == glyphs.load().typefaces


def test_six_typefaces_are_for_queries_and_the_rest_for_the_gallery(embedded):
    roles = [face.role for face in embedded]
    assert roles.count("query") == 6
    assert roles.count("gallery") == 22


def test_no_family_stands_on_both_sides(embedded):
    sides = {
        role: {face.family for face in embedded if face.role == role}
        for role in ("query", "gallery")
    }
    assert not sides["query"] & sides["gallery"]


def test_typefaces_that_look_alike_are_of_one_family(embedded):
    kanji = glyphs.load()
    assert alike_across_families(kanji.images[::20], embedded) == []


def test_no_query_typeface_is_close_to_one_of_the_gallery(embedded):
    # By the correlation that NumPy computes, picture by picture.
    kanji = glyphs.load()
    queries = [n for n, face in enumerate(embedded) if face.role == "query"]
    gallery = [n for n, face in enumerate(embedded) if face.role == "gallery"]
    for query in queries:
        for other in gallery:
            alike = [
                np.corrcoef(picture[query].ravel(), picture[other].ravel())[0, 1]
                for picture in kanji.images[::100]
            ]
            assert np.mean(alike) < 0.85


def test_notice_names_every_typeface_with_package_version_and_licence(embedded, notice):
    for face in embedded:
        entry = (
            f"\n{face.name}\n    package: {face.package} {face.version}\n"
            f"    licence: {face.licence}\n    rights: "
        )
        assert entry in notice


def test_notice_names_no_typeface_that_is_not_embedded(embedded, notice):
    named = re.findall(r"^(\S+)\n    package: ", notice, flags=re.MULTILINE)
    assert named == [face.name for face in embedded]


@pytest.mark.parametrize(
    "words",
    [
        "SIL OPEN FONT LICENSE Version 1.1",
        "Apache License\n                           Version 2.0",
        "Permission is hereby granted, free of charge, to any person obtaining a",
        "IPA Font License Agreement v1.0",
    ],
)
def test_notice_carries_the_licence_texts(words, notice):
    assert words in notice
