import numpy as np

from keras_bct.evaluation.backfilling.backfill_cutoffs import (
    acceptance_cutoffs,
    paper_cutoffs,
)


def test_the_papers_cutoffs_are_among_those_of_acceptance():
    for items in (5, 22, 100, 101, 5000):
        cutoffs = acceptance_cutoffs(items)
        assert len(cutoffs) == min(items + 1, 101)
        assert set(paper_cutoffs(items)) <= set(cutoffs)
        assert (np.diff(cutoffs) > 0).all()


def test_the_papers_cutoffs_are_rounded_down():
    """FastFill, section 5: 22 shares of the gallery, from none to all."""
    assert paper_cutoffs(45).tolist() == [
        *(0, 2, 4, 6, 8, 10, 12),
        *(15, 17, 19, 21, 23, 25, 27),
        *(30, 32, 34, 36, 38, 40, 42),
        45,
    ]
