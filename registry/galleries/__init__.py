"""Galleries: stored embeddings, written once, in generations."""
