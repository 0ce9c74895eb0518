import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics.pairwise import cosine_similarity

from keras_bct.backfill import UNCERTAINTIES, uncertainty


@pytest.fixture
def items():
    """Gives embeddings and centres of no particular length."""
    generator = np.random.default_rng(0)
    return generator.normal(size=(50, 4)), 3 * generator.normal(size=(6, 4))


@pytest.mark.parametrize("temperature", [0.05, 1.0])
@pytest.mark.parametrize("kind", UNCERTAINTIES)
def test_is_what_scipy_and_scikit_learn_make_of_the_cosines(items, kind, temperature):
    p = softmax(cosine_similarity(*items) / temperature, axis=1)
    ordered = np.sort(p, axis=1)
    expected = {
        "least_confidence": 1 - ordered[:, -1],
        "margin": 1 - (ordered[:, -1] - ordered[:, -2]),
        "entropy": entropy(p, axis=1),
    }[kind]

    found = uncertainty(*items, kind, temperature=temperature)

    # Directions are rounded to 2^-26, which a temperature of 0.05 makes twenty times.
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "most"),
    [("least_confidence", 2 / 3), ("margin", 1.0), ("entropy", np.log(3))],
)
def test_an_item_between_all_centres_is_the_least_sure(kind, most):
    found = uncertainty(np.ones((1, 3)), np.eye(3), kind)

    np.testing.assert_allclose(found, [most])


@pytest.mark.parametrize("kind", UNCERTAINTIES)
def test_sure_items_keep_an_order_among_themselves(kind):
    rows = np.array([[1.0, 0.0], [1.0, 0.01]])

    first, second = uncertainty(rows, np.eye(2), kind, temperature=0.01)

    assert 0 < first < second < 1e-30


@pytest.mark.parametrize(
    ("kind", "between"),
    [("least_confidence", 1 / 2), ("margin", 1.0), ("entropy", np.log(2))],
)
def test_at_the_least_temperature_only_a_tie_is_unsure(kind, between):
    rows = np.array([[1.0, 0.0], [1.0, 0.999], [1.0, 1.0]])

    found = uncertainty(rows, np.eye(2), kind, temperature=np.finfo(float).tiny)

    np.testing.assert_allclose(found, [0, 0, between])


@pytest.mark.parametrize("temperature", [0.0, -1.0, 1e-320, np.nan, np.inf, "0.05"])
def test_what_is_no_temperature_is_refused(items, temperature):
    with pytest.raises(ValueError, match="`temperature` should be above zero"):
        uncertainty(*items, temperature=temperature)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "doubt"}, "`kind` should be one of"),
        ({"centres": np.eye(1, 2)}, "at least two rows"),
        ({"centres": np.eye(3)}, r"`centres` should have shape \(n, 2\)"),
        ({"centres": np.diag([1.0, 0.0])}, "`centres` .* row 1 is zero"),
        ({"embeddings": np.zeros((1, 2))}, "`embeddings` .* row 0 is zero"),
        ({"embeddings": np.full((1, 2), np.nan)}, "`embeddings` should be finite"),
    ],
)
def test_what_has_no_uncertainty_is_refused(change, message):
    arguments = {"embeddings": np.eye(2), "centres": np.eye(2)} | change

    with pytest.raises(ValueError, match=message):
        uncertainty(**arguments)
