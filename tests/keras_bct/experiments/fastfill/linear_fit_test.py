import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import LinearRegression

from keras_bct.experiments.fastfill.linear_fit import linear_fit


def test_as_scikit_learn_fits_the_ranks():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(60, 4)).astype(np.float32)
    targets = np.exp(features @ generator.normal(size=4) + generator.normal(size=60))
    exact = features.astype(np.float64)
    ranks = rankdata(targets) - 1

    expected = LinearRegression().fit(exact, ranks).predict(exact)

    np.testing.assert_allclose(linear_fit(features, targets), expected, atol=1e-8)
