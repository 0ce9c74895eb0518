"""Deletion: what may go, what is in use, and files that nothing names."""
