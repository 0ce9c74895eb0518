import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeCV

from keras_bct.adapters import Ridge

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)


@pytest.mark.parametrize(("old_size", "new_size"), [(5, 5), (3, 6), (6, 3)])
def test_is_scikit_learns_ridge(make_pairs, sides, old_size, new_size):
    old, new = make_pairs(old_size=old_size, new_size=new_size)
    expected = SklearnRidge(alpha=7.0).fit(old, new)

    adapter = Ridge(strengths=[7.0]).fit(old, new, **sides)

    np.testing.assert_allclose(adapter.map.matrix, expected.coef_.T, atol=1e-9)
    np.testing.assert_allclose(adapter.map.offset, expected.intercept_)
    assert adapter.settings["strength"] == 7.0


@pytest.mark.parametrize("noise", [0.1, 3.0, 30.0])
def test_chooses_as_scikit_learn_does(make_pairs, sides, noise):
    old, new = make_pairs(pairs=20, old_size=8, noise=noise)
    expected = RidgeCV(alphas=STRENGTHS).fit(old, new)

    adapter = Ridge(strengths=STRENGTHS).fit(old, new, **sides)

    assert adapter.settings["strength"] == expected.alpha_
    # scikit-learn's is the mean over components, too, and negative.
    assert adapter.settings["leave_one_out"] / 5 == pytest.approx(-expected.best_score_)


@pytest.mark.parametrize("pairs", [12, 6])
def test_the_error_is_that_of_leaving_each_pair_out(make_pairs, sides, pairs):
    old, new = make_pairs(pairs=pairs, old_size=8, noise=1.0)
    errors = []
    for i in range(pairs):
        others = np.arange(pairs) != i
        model = SklearnRidge(alpha=2.0).fit(old[others], new[others])
        errors.append(((model.predict(old[i : i + 1]) - new[i]) ** 2).sum())

    adapter = Ridge(strengths=[2.0]).fit(old, new, **sides)

    assert adapter.settings["leave_one_out"] == pytest.approx(np.mean(errors))


def test_a_sample_of_many_pairs_gives_errors_near_those_of_all(
    make_pairs, sides, monkeypatch
):
    old, new = make_pairs(pairs=3000, noise=1.0)
    whole = Ridge(strengths=[1.0]).fit(old, new, **sides)
    monkeypatch.setattr(Ridge, "sample_pairs", 500)
    sampled = Ridge(strengths=[1.0]).fit(old, new, **sides)

    np.testing.assert_array_equal(sampled.map.matrix, whole.map.matrix)
    assert sampled.settings["leave_one_out"] != whole.settings["leave_one_out"]
    assert sampled.settings["leave_one_out"] == pytest.approx(
        whole.settings["leave_one_out"], rel=0.15
    )


def test_the_unit_of_the_embeddings_does_not_matter(make_pairs, sides):
    old, new = make_pairs(noise=2.0)
    adapter = Ridge().fit(old, new, **sides)
    smaller = Ridge().fit(old / 1000, new, **sides)

    np.testing.assert_allclose(
        smaller.transform(old / 1000), adapter.transform(old), rtol=1e-8
    )


def test_components_that_say_nothing_are_no_obstacle(make_pairs, sides):
    old, new = make_pairs()
    old[:, 2] = 0.0

    mapped = Ridge().fit(old, new, **sides).transform(old)

    assert np.isfinite(mapped).all()


@pytest.mark.parametrize(
    "strengths",
    [
        *((), (0.0,), (-1.0, 1.0), (np.inf,), (np.nan,), 3.0),
        *("abc", ("1", "2"), (None,), ((1.0,), (1.0, 2.0)), (True,)),
    ],
)
def test_strengths_that_are_none_are_refused(strengths):
    with pytest.raises(ValueError, match="`strengths` should be"):
        Ridge(strengths=strengths)
