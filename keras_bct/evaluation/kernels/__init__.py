"""The compiled inner loops. Only functions that run one import this room."""

from keras_bct.evaluation.kernels.acceptance import (
    accepted_share,
    equal_error,
    weigh_pairs,
)
from keras_bct.evaluation.kernels.acceptance_along import count_along, thresholds_along
from keras_bct.evaluation.kernels.impostors import (
    sample_pairs,
    scan_impostors,
    scan_pairs,
)
from keras_bct.evaluation.kernels.moves import open_moves, scan_moves, settle_moves
from keras_bct.evaluation.kernels.pair_scores import exact_scores
from keras_bct.evaluation.kernels.ranking import (
    close_ranking,
    distinct_scores,
    open_ranking,
    scan_ranking,
    settle_ranking,
)
from keras_bct.evaluation.kernels.retrieval_along import follow_moves
from keras_bct.evaluation.kernels.tile import mask, pairs_above, row_maxima

__all__ = [
    "accepted_share",
    "close_ranking",
    "count_along",
    "distinct_scores",
    "equal_error",
    "exact_scores",
    "follow_moves",
    "mask",
    "open_moves",
    "open_ranking",
    "pairs_above",
    "row_maxima",
    "sample_pairs",
    "scan_impostors",
    "scan_moves",
    "scan_pairs",
    "scan_ranking",
    "settle_moves",
    "settle_ranking",
    "thresholds_along",
    "weigh_pairs",
]
