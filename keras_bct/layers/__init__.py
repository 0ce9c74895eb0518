"""Classifier heads, the frozen old classifier, and the alignment map's layers."""

from keras_bct.layers.alignment_map import AlignmentMap
from keras_bct.layers.attention_pooling import AttentionPooling
from keras_bct.layers.cosine_head import CosineHead
from keras_bct.layers.frozen_classifier import FrozenClassifier
from keras_bct.layers.linear_head import LinearHead
from keras_bct.layers.normalised_dense import NormalisedDense
from keras_bct.layers.old_beside_new import OldBesideNew
from keras_bct.layers.residual_alignment import ResidualAlignment
from keras_bct.layers.simplex_head import SimplexHead
from keras_bct.layers.uncertainty_head import UncertaintyHead

__all__ = [
    "AlignmentMap",
    "AttentionPooling",
    "CosineHead",
    "FrozenClassifier",
    "LinearHead",
    "NormalisedDense",
    "OldBesideNew",
    "ResidualAlignment",
    "SimplexHead",
    "UncertaintyHead",
]
