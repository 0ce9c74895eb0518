"""Adapters: maps between two embedding spaces, closed-form and learned.

Importing it imports neither TensorFlow nor Keras. A method (`Procrustes`, `Ridge`, ...)
is fitted to pairs of an old and a new embedding of the same item and gives an adapter,
`OldToNew` or `NewToOld`; `load_adapter` reads one back.
"""

from keras_bct.adapters.adapter import Adapter, NewToOld, OldToNew
from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.closed_form import ClosedForm
from keras_bct.adapters.description import AdapterDescription
from keras_bct.adapters.embedding_map import EmbeddingMap
from keras_bct.adapters.lambda_orthogonal import LambdaOrthogonal
from keras_bct.adapters.load_adapter import load_adapter
from keras_bct.adapters.low_rank import LowRank
from keras_bct.adapters.method import Method
from keras_bct.adapters.pair_statistics import PairStatistics, gather
from keras_bct.adapters.procrustes import Procrustes
from keras_bct.adapters.residual_map import ResidualMap
from keras_bct.adapters.residual_mlp import ResidualMLP
from keras_bct.adapters.ridge import Ridge
from keras_bct.adapters.saved_model_map import SavedModelMap
from keras_bct.adapters.scaled_rotation import ScaledRotation

__all__ = [
    "Adapter",
    "AdapterDescription",
    "AffineMap",
    "ClosedForm",
    "EmbeddingMap",
    "LambdaOrthogonal",
    "LowRank",
    "Method",
    "NewToOld",
    "OldToNew",
    "PairStatistics",
    "Procrustes",
    "ResidualMLP",
    "ResidualMap",
    "Ridge",
    "SavedModelMap",
    "ScaledRotation",
    "gather",
    "load_adapter",
]
