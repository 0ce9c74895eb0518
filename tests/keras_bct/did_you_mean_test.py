import pytest

from keras_bct.did_you_mean import did_you_mean


@pytest.mark.parametrize(
    ("given", "known", "said"),
    [
        ("glyhps", ["glyphs", "faces"], " Did you mean 'glyphs'?"),
        ("retrieval/map", ["retrieval/mAP"], " Did you mean 'retrieval/mAP'?"),
        ("Production", ["production", "staging"], " Did you mean 'production'?"),
        ("faces", ["glyphs"], ""),
        ("glyphs", ["glyphs", "glyph"], ""),
        ("glyphs", [], ""),
        (3, ["glyphs"], ""),
    ],
)
def test_the_known_name_that_is_like_it_is_named(given, known, said):
    assert did_you_mean(given, known) == said
