"""Serving what an alias names: an index with it, searches, TensorFlow Serving."""
