"""Ranking a gallery for every query: mAP, rank-k and what chance would give."""
