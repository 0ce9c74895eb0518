"""Evidence: what was measured between two versions, and what follows from it."""
