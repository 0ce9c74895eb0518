"""Finds the version that the new model must be compatible with."""

from tfx_pipeline.predecessor_resolver.component import PredecessorResolver

__all__ = ["PredecessorResolver"]
