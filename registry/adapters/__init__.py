"""Adapters: maps between the embedding spaces of two versions."""
