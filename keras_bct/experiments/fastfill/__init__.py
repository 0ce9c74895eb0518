"""FastFill's experiments: alignment maps, orderings and the backfill that they save.

python -m keras_bct.experiments fastfill --seeds 3
"""
