"""Publishes the gallery's stored vectors as a ScaNN index."""

from tfx_pipeline.scann_indexer.component import ScannIndexer

__all__ = ["ScannIndexer"]
