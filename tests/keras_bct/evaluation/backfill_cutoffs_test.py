import numpy as np

from keras_bct.evaluation.backfill_cutoffs import acceptance_cutoffs, paper_cutoffs


def test_the_papers_cutoffs_are_among_those_of_acceptance():
    for items in (5, 22, 100, 101, 5000):
        cutoffs = acceptance_cutoffs(items)
        assert len(cutoffs) == min(items + 1, 101)
        assert set(paper_cutoffs(items)) <= set(cutoffs)
        assert (np.diff(cutoffs) > 0).all()
