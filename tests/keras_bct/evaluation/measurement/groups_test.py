import numpy as np
import pytest

from keras_bct.evaluation import measure, measure_galleries, measure_groups

METRICS = ("retrieval/mAP", "verification/TAR@FAR=0.1")


def test_each_group_is_its_own_queries(make_protocol, make_people):
    queries, gallery = make_people()
    protocol = make_protocol(*METRICS)
    result = measure_groups(protocol, queries, gallery, queries.cameras)

    assert set(result.groups) == {"camera 0", "camera 1", "camera 2"}
    for metric in METRICS:
        values = {}
        for camera in result.groups:
            chosen = queries.take(queries.cameras == camera)
            values[camera] = measure(protocol, chosen, gallery).values[metric]
        assert result.values(metric) == values
        assert result.gap(metric) == max(values.values()) - min(values.values())


def test_a_group_that_cannot_be_measured_is_named(make_protocol, make_people):
    queries, gallery = make_people()
    known = np.isin(queries.labels, gallery.labels)
    groups = np.where(known, "known", "strangers")
    with pytest.raises(ValueError, match="group 'strangers': `queries`"):
        measure_groups(make_protocol(*METRICS), queries, gallery, groups)
    with pytest.raises(ValueError, match="each of the 108 queries"):
        measure_groups(make_protocol(*METRICS), queries, gallery, groups[:5])


def test_several_galleries_are_averaged(make_protocol, make_people):
    queries, gallery = make_people()
    halves = {
        "G1": gallery.take(np.arange(len(gallery)) % 2 == 0),
        "G2": gallery.take(np.arange(len(gallery)) % 2 == 1),
    }
    protocol = make_protocol("identification/TPIR@FPIR=0.2")
    means, parts = measure_galleries(protocol, queries, halves)

    metric = "identification/TPIR@FPIR=0.2"
    values = [
        measure(protocol, queries, halves[name]).values[metric] for name in halves
    ]
    assert means[metric] == np.mean(values)
    assert list(parts) == ["G1", "G2"]
    with pytest.raises(ValueError, match="at least one"):
        measure_galleries(protocol, queries, {})
