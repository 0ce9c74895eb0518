"""Evaluation: how well a new model's queries find what an old model stored.

Importing it imports neither TensorFlow nor Keras, and no compiler before a metric is
computed.
"""

from keras_bct.evaluation.backfilling_curve import (
    BackfillingCurve,
    backfilling_curve,
    paper_cutoffs,
)
from keras_bct.evaluation.block_pass import Execution
from keras_bct.evaluation.comparison import (
    Comparison,
    MetricComparison,
    compare,
    compare_measurements,
)
from keras_bct.evaluation.decision import Decision, decide
from keras_bct.evaluation.embedding_set import EmbeddingSet
from keras_bct.evaluation.measurement import Measurement
from keras_bct.evaluation.measuring import measure
from keras_bct.evaluation.metric_name import KNOWN_METRICS, MetricName
from keras_bct.evaluation.protocol import Bootstrap, Gate, Protocol, Source
from keras_bct.evaluation.rank_counts import RankCounts

__all__ = [
    "KNOWN_METRICS",
    "BackfillingCurve",
    "Bootstrap",
    "Comparison",
    "Decision",
    "EmbeddingSet",
    "Execution",
    "Gate",
    "Measurement",
    "MetricComparison",
    "MetricName",
    "Protocol",
    "RankCounts",
    "Source",
    "backfilling_curve",
    "compare",
    "compare_measurements",
    "decide",
    "measure",
    "paper_cutoffs",
]
