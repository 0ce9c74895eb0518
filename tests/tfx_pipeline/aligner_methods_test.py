import pytest

from tfx_pipeline.aligner.methods import FASTFILL, METHODS, check_method


@pytest.mark.parametrize("method", [*METHODS, FASTFILL])
@pytest.mark.parametrize(
    "settings", [None, "rank", "", 3, True, [], ["rank"], [[1, 2]]]
)
def test_what_names_no_settings_is_refused(method, settings):
    with pytest.raises(ValueError, match=rf"`aligner\.settings`.*{method}.*Received: "):
        check_method(method, settings)


@pytest.mark.parametrize("method", [*METHODS, FASTFILL])
@pytest.mark.parametrize("settings", [{"depth": 3}, {3: "depth"}])
def test_settings_that_no_method_takes_are_refused(method, settings):
    with pytest.raises(ValueError, match=r"`aligner\.settings`"):
        check_method(method, settings)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        *((method, {}) for method in (*METHODS, FASTFILL) if method != "LowRank"),
        ("LowRank", {"rank": 8}),
        ("Ridge", {"strengths": [0.1, 1]}),
        (FASTFILL, {"epochs": 10, "learning_rate": 1}),
    ],
)
def test_settings_of_the_method_are_taken(method, settings):
    check_method(method, settings)


@pytest.mark.parametrize("method", ["", "ridge", "SVD", None])
def test_a_method_that_is_none_is_refused_with_those_that_are(method):
    with pytest.raises(ValueError, match=r"`aligner\.method`.*Ridge.*FastFill"):
        check_method(method, {})
