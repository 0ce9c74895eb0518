"""Trains a version: the `run_fn` of TFX's own Trainer component."""
