"""Backfill: in which order to embed a gallery anew, and how good an order is.

NumPy only (SciPy for `kendall_tau`). Priorities are higher for items that should come
first; `highest_first` turns them into an order.
"""

from keras_bct.backfill.bridging_report import BridgingReport, bridging_report
from keras_bct.backfill.class_centres import ClassCentres, distance_to_class_mean
from keras_bct.backfill.distance import distance_to_new
from keras_bct.backfill.neighbourhood import neighbourhood_distance
from keras_bct.backfill.ordering import highest_first, random_order
from keras_bct.backfill.quality import kendall_tau
from keras_bct.backfill.uncertainty import UNCERTAINTIES, uncertainty
from keras_bct.backfill.variance import predicted_variance

__all__ = [
    "UNCERTAINTIES",
    "BridgingReport",
    "ClassCentres",
    "bridging_report",
    "distance_to_class_mean",
    "distance_to_new",
    "highest_first",
    "kendall_tau",
    "neighbourhood_distance",
    "predicted_variance",
    "random_order",
    "uncertainty",
]
