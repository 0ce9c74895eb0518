"""Losses of compatible training: the softmax family, and what ties new to old."""

from keras_bct.losses.alignment import Alignment
from keras_bct.losses.arcface import ArcFace
from keras_bct.losses.classifier_loss import ClassifierLoss
from keras_bct.losses.contrastive import Contrastive
from keras_bct.losses.cosface import CosFace
from keras_bct.losses.distillation import Distillation
from keras_bct.losses.fastfill import FastFill
from keras_bct.losses.feature_alignment import FeatureAlignment
from keras_bct.losses.for_classifier import for_classifier
from keras_bct.losses.influence import Influence
from keras_bct.losses.l2 import L2
from keras_bct.losses.normsoftmax import NormSoftmax
from keras_bct.losses.softmax import Softmax
from keras_bct.losses.sphereface import SphereFace

__all__ = [
    "L2",
    "Alignment",
    "ArcFace",
    "ClassifierLoss",
    "Contrastive",
    "CosFace",
    "Distillation",
    "FastFill",
    "FeatureAlignment",
    "Influence",
    "NormSoftmax",
    "Softmax",
    "SphereFace",
    "for_classifier",
]
