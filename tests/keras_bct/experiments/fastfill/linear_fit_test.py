"""The linear fit predicts an item from the items of other groups alone."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from keras_bct.experiments.fastfill.linear_fit import linear_fit


@pytest.fixture
def items():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 4)).astype(np.float32)
    targets = features @ rng.normal(size=4) + 0.3 * rng.normal(size=60)
    return features, targets, np.array(["brush", "pen", "print"])[np.arange(60) % 3]


def test_as_scikit_learn_leaves_one_group_out(items):
    features, targets, groups = items
    expected = cross_val_predict(
        LinearRegression(),
        features.astype(np.float64),
        targets,
        groups=groups,
        cv=LeaveOneGroupOut(),
    )
    np.testing.assert_allclose(linear_fit(*items), expected, atol=1e-8)


def test_the_numbers_of_a_group_change_nothing_for_its_own_items(items):
    features, targets, groups = items
    changed = np.where(groups == "pen", -9.0, targets)
    own = groups == "pen"
    before, after = (linear_fit(features, t, groups) for t in (targets, changed))
    np.testing.assert_array_equal(before[own], after[own])
    assert np.abs(before - after)[~own].min() > 0


def test_one_group_is_refused(items):
    features, targets, groups = items
    with pytest.raises(ValueError, match=r"`groups`.*pen"):
        linear_fit(features, targets, np.full_like(groups, "pen"))
