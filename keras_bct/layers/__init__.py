"""Classifier heads: what turns an embedding into cosines or logits."""

from keras_bct.layers.attention_pooling import AttentionPooling
from keras_bct.layers.cosine_head import CosineHead
from keras_bct.layers.frozen_classifier import FrozenClassifier
from keras_bct.layers.linear_head import LinearHead
from keras_bct.layers.old_beside_new import OldBesideNew
from keras_bct.layers.simplex_head import SimplexHead

__all__ = [
    "AttentionPooling",
    "CosineHead",
    "FrozenClassifier",
    "LinearHead",
    "OldBesideNew",
    "SimplexHead",
]
