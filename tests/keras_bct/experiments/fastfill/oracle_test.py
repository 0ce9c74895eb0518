import numpy as np

from keras_bct.classifier import Classifier
from keras_bct.evaluation import EmbeddingSet
from keras_bct.experiments.fastfill.oracle import alignment_loss


def test_is_squared_error_and_cosface_by_hand():
    classifier = Classifier("cosface", np.eye(2), ("a", "b"), scale=2.0, margin=0.5)
    ids, labels = ["1", "2"], ["a", "?"]
    mapped = EmbeddingSet(ids, labels, None, np.array([[3.0, 0.0], [0.0, 1.0]]))
    new = EmbeddingSet(ids, labels, None, np.array([[1.0, 0.0], [0.0, 1.0]]))
    # Mean of (2^2, 0); logits 2 (1 - 0.5) and 0. The second class is unknown.
    wanted = [2.0 + np.log(1 + np.exp(-1.0)), 0.0]
    np.testing.assert_allclose(alignment_loss(mapped, new, classifier), wanted)
