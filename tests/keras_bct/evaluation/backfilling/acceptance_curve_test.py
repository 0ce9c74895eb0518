from keras_bct.evaluation import backfilling_curve
from keras_bct.evaluation.backfilling import acceptance_curve

ACCEPTANCE = ("verification/TAR@FAR=0.01", "verification/TAR@FAR=0.2")


def test_a_floor_that_was_guessed_too_high_is_lowered(make_backfill, monkeypatch):
    backfill = make_backfill()
    expected = backfilling_curve(**backfill, metrics=ACCEPTANCE)
    monkeypatch.setattr(acceptance_curve, "_SLACK", 0.05)
    again = backfilling_curve(**backfill, metrics=ACCEPTANCE)

    for metric in ACCEPTANCE:
        assert (again.values[metric] == expected.values[metric]).all()
