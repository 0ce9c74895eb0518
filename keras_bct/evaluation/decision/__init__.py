"""Whether a new model is compatible: the comparison, the gate, the strict rule."""
