"""Measures the compatibility criterion and blesses the model, or not."""

from tfx_pipeline.compatibility_evaluator.component import CompatibilityEvaluator

__all__ = ["CompatibilityEvaluator"]
