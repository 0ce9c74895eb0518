import numpy as np
import pytest
from sklearn.metrics import roc_curve

from keras_bct.evaluation import measure


@pytest.fixture
def five_probes(make_protocol, make_set):
    """Three mated probes and two strangers on a line, by inner product with 1."""

    def probe(*metrics):
        gallery = make_set("g", ["x", "y"], [[1, 0], [0, 1]])
        queries = make_set(
            "q",
            ["x", "x", "y", "stranger", "other stranger"],
            [[9, 0], [5, 6], [0, 3], [4, 0], [0, 8]],
        )
        protocol = make_protocol(*metrics, distance="inner_product")
        return measure(protocol, queries, gallery)

    return probe


def test_by_hand(five_probes):
    # Strangers score 4 and 8. No alarm allowed: only 9 is above 8. One of two allowed:
    # 9 and 5 are above 4; but for 5 the other item, at 6, stands first.
    result = five_probes(
        "identification/TPIR@FPIR=0.1",
        "identification/TPIR@FPIR=0.5",
        "identification/TPIR@FPIR=0.5,rank=1",
        "identification/TPIR@FPIR=0.5,rank=2",
        "identification/rank@1",
        "identification/rank@2",
    )

    assert list(result.values.values()) == pytest.approx(
        [1 / 3, 2 / 3, 1 / 3, 2 / 3, 2 / 3, 1]
    )
    assert result.threshold("identification/TPIR@FPIR=0.5") == 4


def test_the_detection_error_tradeoff(five_probes):
    result = five_probes("identification/TPIR@FPIR=0.1")
    identification = result.identification
    _, alarms, missed = identification.det()
    labels = [1] * 3 + [0] * 2
    scores = np.append(identification.mate_scores, identification.top_scores)
    false, true, _ = roc_curve(labels, scores, drop_intermediate=False)

    assert alarms == pytest.approx(false[1:])
    assert missed == pytest.approx(1 - true[1:])
