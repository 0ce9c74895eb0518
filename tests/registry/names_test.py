import pytest

from registry.errors import NameRefusedError, UsageError
from registry.names import (
    check_gallery_name,
    check_name,
    parse_alias,
    parse_index,
    parse_version,
)


@pytest.mark.parametrize("name", ["faces", "faces-v2", "a", "kanji_64.d", "x" * 100])
def test_fit_names_pass(name):
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/../b",
        "a/b",
        "/abs",
        "-rf",
        ".hidden",
        "a..b",
        "ends.",
        "white space",
        "new\nline",
        "nul\0",
        "漢字",
        "123",
        "x" * 101,
        "a@b",
        "a#1",
    ],
)
def test_unfit_names_are_refused(name):
    with pytest.raises(NameRefusedError, match="Received"):
        check_name(name)


@pytest.mark.parametrize(
    "name",
    ["galleries", "indices", "Galleries", "registry.db", "registry.db-journal"],
)
def test_names_of_the_registrys_own_files_are_reserved(name):
    with pytest.raises(NameRefusedError, match="reserved"):
        check_name(name)


def test_gallery_names_may_have_folders():
    assert check_gallery_name("kanji/gallery") == "kanji/gallery"


@pytest.mark.parametrize(
    "name", ["kanji/", "/kanji", "kanji//gallery", "a/../b", "a/" * 300 + "b"]
)
def test_gallery_names_stay_inside_their_folder(name):
    with pytest.raises(NameRefusedError):
        check_gallery_name(name)


def test_a_version_is_model_and_number():
    assert parse_version("glyphs/12") == ("glyphs", 12)


@pytest.mark.parametrize(
    "text",
    [
        "glyphs",
        "glyphs/",
        "glyphs/0",
        "glyphs/-1",
        "glyphs/1.0",
        "glyphs/x",
        "a/1234567890",
    ],
)
def test_other_spellings_of_a_version_are_refused(text):
    with pytest.raises(UsageError, match="MODEL/NUMBER"):
        parse_version(text)


def test_an_alias_is_model_and_name():
    assert parse_alias("glyphs@production") == ("glyphs", "production")


@pytest.mark.parametrize("text", ["glyphs", "glyphs@", "@production", "glyphs@3"])
def test_other_spellings_of_an_alias_are_refused(text):
    with pytest.raises(UsageError):
        parse_alias(text)


def test_an_index_is_model_and_number():
    assert parse_index("glyphs#2") == ("glyphs", 2)


@pytest.mark.parametrize("text", ["glyphs", "glyphs#", "glyphs#0", "#1", "glyphs/1"])
def test_other_spellings_of_an_index_are_refused(text):
    with pytest.raises(UsageError):
        parse_index(text)


@pytest.mark.parametrize("what", ["model", "alias", "gallery"])
def test_a_refused_name_is_called_what_it_is(what):
    with pytest.raises(NameRefusedError, match=f"^{what.capitalize()} names have 1 "):
        check_name("a b", what)
