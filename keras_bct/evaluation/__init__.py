"""Evaluation: how well a new model's queries find what an old model stored.

Importing it imports neither TensorFlow nor Keras, and no compiler before a metric is
computed.
"""

from keras_bct.evaluation.backfilling.backfill_cutoffs import paper_cutoffs
from keras_bct.evaluation.backfilling.backfilling_curve import (
    BackfillingCurve,
    backfilling_curve,
)
from keras_bct.evaluation.backfilling.rank_merge import (
    measure_rank_merge,
    merge_nearest,
)
from keras_bct.evaluation.decision.comparison import (
    Comparison,
    MetricComparison,
    compare,
    compare_measurements,
)
from keras_bct.evaluation.decision.decision import Decision, decide
from keras_bct.evaluation.decision.strict_criterion import (
    PairShare,
    StrictCriterion,
    strict_criterion,
)
from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.engine.rank_counts import RankCounts
from keras_bct.evaluation.inputs.embedding_files import data_digest, read_embeddings
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.metric_name import KNOWN_METRICS, MetricName
from keras_bct.evaluation.inputs.protocol import Bootstrap, Gate, Protocol, Source
from keras_bct.evaluation.inputs.templates import pool_templates
from keras_bct.evaluation.measurement.cross_version import (
    CrossVersionMatrix,
    cross_version_matrix,
)
from keras_bct.evaluation.measurement.groups import (
    GroupMeasurements,
    measure_galleries,
    measure_groups,
)
from keras_bct.evaluation.measurement.measurement import Measurement
from keras_bct.evaluation.measurement.measuring import measure
from keras_bct.evaluation.report.report import write_report
from keras_bct.evaluation.retrieval.nearest import Nearest, nearest
from keras_bct.evaluation.retrieval.prototypes import prototypes_of

__all__ = [
    "KNOWN_METRICS",
    "BackfillingCurve",
    "Bootstrap",
    "Comparison",
    "CrossVersionMatrix",
    "Decision",
    "EmbeddingSet",
    "Execution",
    "Gate",
    "GroupMeasurements",
    "Measurement",
    "MetricComparison",
    "MetricName",
    "Nearest",
    "PairShare",
    "Protocol",
    "RankCounts",
    "Source",
    "StrictCriterion",
    "backfilling_curve",
    "compare",
    "compare_measurements",
    "cross_version_matrix",
    "data_digest",
    "decide",
    "measure",
    "measure_galleries",
    "measure_groups",
    "measure_rank_merge",
    "merge_nearest",
    "nearest",
    "paper_cutoffs",
    "pool_templates",
    "prototypes_of",
    "read_embeddings",
    "strict_criterion",
    "write_report",
]
