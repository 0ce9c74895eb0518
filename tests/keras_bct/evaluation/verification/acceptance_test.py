import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from keras_bct.evaluation import measure
from keras_bct.evaluation.engine.bootstrap import IdentityDraws
from keras_bct.evaluation.verification.acceptance import (
    ImpostorTail,
    allowed_above,
    threshold_at,
)


def tail_of(scores):
    nobody = np.zeros(len(scores), np.int32)
    return ImpostorTail.sort(np.array(scores, float), nobody, nobody)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=30),
    st.lists(st.integers(0, 5), min_size=1, max_size=30),
    st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.9]),
)
def test_the_threshold_is_where_scikit_learn_has_it(impostors, genuine, rate):
    labels = [0] * len(impostors) + [1] * len(genuine)
    false, true, _ = roc_curve(labels, impostors + genuine, drop_intermediate=False)

    threshold = threshold_at(tail_of(impostors), rate, len(impostors))

    assert np.mean(np.array(genuine) > threshold) == pytest.approx(
        true[false <= rate][-1]
    )


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_a_share_that_is_a_whole_count_allows_that_count(count, total):
    if count < total:
        assert allowed_above(count / total, total) == count


def weighted_share(impostors, impostor_weights, genuine, genuine_weights, rate):
    """The accepted share by a walk down the distinct scores."""
    accepted = 0.0
    for score in sorted(set(impostors.tolist()) | set(genuine.tolist()))[::-1]:
        if impostor_weights[impostors >= score].sum() > (
            rate * impostor_weights.sum() * (1 + 1e-12)
        ):
            break
        accepted = genuine_weights[genuine >= score].sum()
    return accepted / genuine_weights.sum()


@pytest.mark.parametrize("rows", ["scattered", "tied"])
def test_verification_replicates_by_the_definition(
    make_protocol, make_people, make_set, reference_scores, rows
):
    """An impostor pair weighs w_i w_j, a genuine pair w_i, thresholds are anew."""
    queries, gallery = make_people(people=8, unknown=2, components=4)
    if rows == "tied":
        queries, gallery = (
            make_set(prefix, side.labels, np.round(side.embeddings))
            for prefix, side in (("q", queries), ("g", gallery))
        )
    protocol = make_protocol("verification/TAR@FAR=0.05", distance="l2")
    scores = reference_scores("l2", queries, gallery)
    names = np.unique(np.concatenate([queries.labels, gallery.labels]))
    asked = np.searchsorted(names, queries.labels)
    stored = np.searchsorted(names, gallery.labels)
    genuine = asked[:, None] == stored
    first, second = np.nonzero(~genuine)
    expected = []
    for _, block in IdentityDraws(200, seed=0).blocks(len(names)):
        for weight in block:
            pairs = weight[asked[first]] * weight[stored[second]]
            mates = weight[asked[np.nonzero(genuine)[0]]]
            expected.append(
                weighted_share(scores[~genuine], pairs, scores[genuine], mates, 0.05)
            )

    result = measure(protocol, queries, gallery)

    assert result.replicates("verification/TAR@FAR=0.05") == pytest.approx(
        expected, abs=1e-12
    )


def test_identification_replicates_by_the_definition(
    make_protocol, make_people, reference_scores
):
    """Mated and non-mated identities are drawn apart; the gallery stays."""
    queries, gallery = make_people(people=8, unknown=5, components=4)
    scores = reference_scores("cosine", queries, gallery)
    same = queries.labels[:, None] == gallery.labels
    mated = same.any(axis=1)
    mate = np.where(same, scores, -np.inf).max(axis=1)[mated]
    top = scores[~mated].max(axis=1)
    _, mated_code = np.unique(queries.labels[mated], return_inverse=True)
    _, other_code = np.unique(queries.labels[~mated], return_inverse=True)
    expected = []
    for (_, left), (_, right) in zip(
        IdentityDraws(200, seed=0).blocks(8),
        IdentityDraws(200, seed=0, stream=1).blocks(5),
        strict=True,
    ):
        for of_mated, of_others in zip(left, right, strict=True):
            expected.append(
                weighted_share(
                    top, of_others[other_code], mate, of_mated[mated_code], 0.2
                )
            )

    result = measure(make_protocol("identification/TPIR@FPIR=0.2"), queries, gallery)

    assert result.replicates("identification/TPIR@FPIR=0.2") == pytest.approx(
        expected, abs=1e-12
    )


def test_a_threshold_has_an_interval_in_the_users_distance(
    make_protocol, make_people, reference_scores
):
    queries, gallery = make_people()
    metric = "verification/TAR@FAR=0.01"
    result = measure(make_protocol(metric, distance="l2"), queries, gallery)
    distances = np.sqrt(-reference_scores("l2", queries, gallery))
    impostor = queries.labels[:, None] != gallery.labels

    threshold = result.threshold(metric)
    low, high = result.threshold_interval(metric)

    assert np.mean(distances[impostor] < threshold) <= 0.01
    assert np.mean(distances[impostor] <= threshold) > 0.01
    assert 0 < low < threshold < high


def test_a_metric_without_a_threshold_says_so(make_protocol, make_people):
    result = measure(make_protocol("retrieval/mAP"), *make_people())

    with pytest.raises(KeyError, match="no threshold"):
        result.threshold("retrieval/mAP")
    with pytest.raises(KeyError, match="was not measured"):
        result.replicates("retrieval/CMC@1")
