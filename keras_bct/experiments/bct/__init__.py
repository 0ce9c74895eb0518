"""The tables of the BCT paper.

python -m keras_bct.experiments table1 --seeds 3
"""
