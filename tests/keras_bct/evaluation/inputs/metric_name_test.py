import pytest

from keras_bct.evaluation import KNOWN_METRICS, MetricName


@pytest.mark.parametrize(
    ("name", "task", "kind", "count", "rate"),
    [
        ("retrieval/mAP", "retrieval", "mAP", None, None),
        ("retrieval/mAP@10", "retrieval", "mAP", 10, None),
        ("retrieval/mAP@R", "retrieval", "mAP@R", None, None),
        ("retrieval/CMC@1", "retrieval", "CMC", 1, None),
        ("retrieval/recall@5", "retrieval", "recall", 5, None),
        ("retrieval/precision@5", "retrieval", "precision", 5, None),
        ("retrieval/R-precision", "retrieval", "R-precision", None, None),
        ("retrieval/nDCG", "retrieval", "nDCG", None, None),
        ("retrieval/nDCG@5", "retrieval", "nDCG", 5, None),
        ("verification/TAR@FAR=1e-4", "verification", "TAR", None, 1e-4),
        ("verification/EER", "verification", "EER", None, None),
        ("identification/TPIR@FPIR=0.01", "identification", "TPIR", None, 0.01),
        ("identification/TPIR@FPIR=0.01,rank=5", "identification", "TPIR", 5, 0.01),
        ("identification/rank@1", "identification", "rank", 1, None),
        ("prototype/accuracy", "prototype", "accuracy", None, None),
    ],
)
def test_a_name_is_taken_apart(name, task, kind, count, rate):
    assert MetricName.parse(name) == MetricName(name, task, kind, count, rate)


@pytest.mark.parametrize(
    "name",
    ["mAP", "retrieval/map", "retrieval/CMC@0", "verification/TAR@FAR=1.2.3", "", 3],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match="known metrics") as error:
        MetricName.parse(name)
    assert all(known in str(error.value) for known in KNOWN_METRICS)


@pytest.mark.parametrize("rate", ["0", "1", "2"])
def test_a_rate_lies_between_zero_and_one(rate):
    with pytest.raises(ValueError, match="between 0 and 1"):
        MetricName.parse(f"verification/TAR@FAR={rate}")
