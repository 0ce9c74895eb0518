"""Alignment: train FastFill's map from old to new embeddings on stored pairs."""

from keras_bct.alignment.batch_statistics import FreezeBatchStatistics
from keras_bct.alignment.fit_alignment import compiled_model, fit_alignment
from keras_bct.alignment.recipe import AlignmentRecipe

__all__ = [
    "AlignmentRecipe",
    "FreezeBatchStatistics",
    "compiled_model",
    "fit_alignment",
]
