import pytest

from keras_bct.evaluation import backfilling_curve, paper_cutoffs

RETRIEVAL = ("retrieval/mAP", "retrieval/CMC@1", "retrieval/CMC@5")


@pytest.mark.parametrize("rows", ["scattered", "tied"])
def test_few_cutoffs_are_points_of_the_whole_curve(make_backfill, rows):
    backfill = make_backfill(rows, items=200)
    whole = backfilling_curve(**backfill, metrics=RETRIEVAL)
    few = backfilling_curve(**backfill, metrics=RETRIEVAL, cutoffs=paper_cutoffs(200))

    assert len(whole.values["retrieval/mAP"]) == 201
    for metric in RETRIEVAL:
        assert few.values[metric] == pytest.approx(
            whole.values[metric][paper_cutoffs(200)], abs=1e-12
        )
        assert few.area(metric) == pytest.approx(few.values[metric].mean())
        assert few.area(metric) == pytest.approx(whole.area(metric))
