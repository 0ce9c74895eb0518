"""Alignment: train FastFill's map from old to new embeddings on stored pairs."""

from keras_bct.alignment.batch_statistics import FreezeBatchStatistics
from keras_bct.alignment.export_alignment import export_alignment
from keras_bct.alignment.fit_alignment import fit_alignment
from keras_bct.alignment.recipe import AlignmentRecipe, residual_recipe

__all__ = [
    "AlignmentRecipe",
    "FreezeBatchStatistics",
    "export_alignment",
    "fit_alignment",
    "residual_recipe",
]
