"""The paper's tables as runnable configurations.

    python -m keras_bct.experiments table1 --seeds 3

Importing it imports neither TensorFlow nor Keras.
"""

from keras_bct.experiments.bct.catalogue import Catalogue, Size
from keras_bct.experiments.bct.table import Row, Table
from keras_bct.experiments.bct.tables import TABLES
from keras_bct.experiments.harness.training import Training
from keras_bct.training.recipe import Recipe

__all__ = ["TABLES", "Catalogue", "Recipe", "Row", "Size", "Table", "Training"]
