"""Losses of compatible training: the softmax family with margins, and influence."""

from keras_bct.losses.arcface import ArcFace
from keras_bct.losses.classifier_loss import ClassifierLoss
from keras_bct.losses.cosface import CosFace
from keras_bct.losses.for_classifier import for_classifier
from keras_bct.losses.influence import Influence
from keras_bct.losses.normsoftmax import NormSoftmax
from keras_bct.losses.softmax import Softmax
from keras_bct.losses.sphereface import SphereFace

__all__ = [
    "ArcFace",
    "ClassifierLoss",
    "CosFace",
    "Influence",
    "NormSoftmax",
    "Softmax",
    "SphereFace",
    "for_classifier",
]
