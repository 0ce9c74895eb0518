"""Fits the map from older versions' stored embeddings to the new model's space."""

from tfx_pipeline.aligner.component import Aligner

__all__ = ["Aligner"]
