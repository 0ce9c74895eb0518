"""The paper's tables as runnable configurations.

    python -m keras_bct.experiments table1 --seeds 3

Importing it imports neither TensorFlow nor Keras.
"""

from keras_bct.experiments.catalogue import Catalogue, Size
from keras_bct.experiments.table import Row, Table
from keras_bct.experiments.tables import TABLES
from keras_bct.experiments.training import Training
from keras_bct.training.recipe import Recipe

__all__ = ["TABLES", "Catalogue", "Recipe", "Row", "Size", "Table", "Training"]
