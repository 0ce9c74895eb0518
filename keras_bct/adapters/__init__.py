"""Adapters: closed-form maps between two embedding spaces.

NumPy only. A method (`Procrustes`, `Ridge`, ...) is fitted to pairs of an old and a
new embedding of the same item and gives an adapter, `OldToNew` or `NewToOld`.
"""

from keras_bct.adapters.adapter import NewToOld, OldToNew
from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.low_rank import LowRank
from keras_bct.adapters.method import Method
from keras_bct.adapters.pair_statistics import PairStatistics, gather
from keras_bct.adapters.procrustes import Procrustes
from keras_bct.adapters.ridge import Ridge
from keras_bct.adapters.scaled_rotation import ScaledRotation

__all__ = [
    "AffineMap",
    "LowRank",
    "Method",
    "NewToOld",
    "OldToNew",
    "PairStatistics",
    "Procrustes",
    "Ridge",
    "ScaledRotation",
    "gather",
]
