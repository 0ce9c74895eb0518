import numpy as np
import pytest
from scipy.spatial.distance import cosine, euclidean

from keras_bct.backfill import distance_to_new


@pytest.mark.parametrize(
    ("distance", "scipys"), [("l2", euclidean), ("cosine", cosine)]
)
def test_is_scipys_distance_of_each_item(distance, scipys):
    generator = np.random.default_rng(0)
    mapped, new = generator.normal(size=(2, 5000, 3)).astype(np.float32)

    found = distance_to_new(mapped, new, distance=distance)

    expected = [
        scipys(a, b)
        for a, b in zip(
            mapped[4000:].astype(float), new[4000:].astype(float), strict=True
        )
    ]
    np.testing.assert_allclose(found[4000:], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("mapped", "new", "distance", "message"),
    [
        (np.eye(2), np.eye(3), "l2", r"`new` should have shape \(n, 2\)"),
        (np.eye(2), np.eye(3, 2), "l2", "Received: 2 and 3 rows"),
        (np.eye(2), np.eye(2) * np.nan, "l2", "`new` should be finite"),
        (np.full((2, 2), np.inf), np.eye(2), "l2", "`mapped` should be finite"),
        (np.diag([1.0, 0.0]), np.eye(2), "cosine", "`mapped` .* row 1 is zero"),
        (np.eye(2), np.eye(2), "dot", "one of l2, cosine"),
    ],
)
def test_what_has_no_distance_is_refused(mapped, new, distance, message):
    with pytest.raises(ValueError, match=message):
        distance_to_new(mapped, new, distance=distance)
