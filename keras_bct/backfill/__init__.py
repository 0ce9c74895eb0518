"""Backfill: in which order to embed a gallery anew, and how good an order is.

Importing it imports neither TensorFlow nor Keras. Priorities are higher for items that
should come first; `highest_first` turns them into an order, `kendall_tau` judges it,
and `bridging_report` says whether a map is worth it at all.
"""

from keras_bct.backfill.alignment_error import alignment_error
from keras_bct.backfill.bridging_report import BridgingReport, bridging_report
from keras_bct.backfill.class_centres import ClassCentres, distance_to_class_mean
from keras_bct.backfill.distance import distance_to_new
from keras_bct.backfill.neighbourhood import neighbourhood_distance
from keras_bct.backfill.ordering import highest_first, random_order
from keras_bct.backfill.quality import kendall_tau
from keras_bct.backfill.query_log import query_frequency
from keras_bct.backfill.uncertainty import UNCERTAINTIES, uncertainty
from keras_bct.backfill.variance import predicted_variance

__all__ = [
    "UNCERTAINTIES",
    "BridgingReport",
    "ClassCentres",
    "alignment_error",
    "bridging_report",
    "distance_to_class_mean",
    "distance_to_new",
    "highest_first",
    "kendall_tau",
    "neighbourhood_distance",
    "predicted_variance",
    "query_frequency",
    "random_order",
    "uncertainty",
]
