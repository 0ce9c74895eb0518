import pytest

from keras_bct.checked_choice import check_choice
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.training import Recipe, read_recipe


def test_a_choice_is_taken():
    check_choice("distance", "l2", ("cosine", "l2"))


@pytest.mark.parametrize("value", ["", None, 2, "manhattan"])
def test_what_is_none_of_them_is_refused_with_all_of_them(value):
    with pytest.raises(ValueError, match="`distance` should be one of cosine, l2"):
        check_choice("distance", value, ("cosine", "l2"))


@pytest.mark.parametrize(
    ("wrong", "like"),
    [
        (lambda: MetricName.parse("retrieval/map"), "retrieval/mAP"),
        (lambda: MetricName.parse("verfication/EER"), "verification/EER"),
        (lambda: read_recipe("kanji-phi-1"), "kanji-phi1"),
        (lambda: Recipe(method="beta-syss", width=8), "beta-sys"),
        (lambda: check_choice("unit", "Identity", ["identity"]), "identity"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_right_one(wrong, like):
    with pytest.raises((ValueError, FileNotFoundError), match="Did you mean") as told:
        wrong()
    assert f"Did you mean {like!r}?" in str(told.value)
