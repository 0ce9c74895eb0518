"""The compiled inner loops. Only functions that run one import this module."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy.typing as npt

Array = npt.NDArray[Any]


@numba.njit(nogil=True, cache=True)
def accepted_share(
    weights: Array,
    first: Array,
    second: Array,
    scores: Array,
    limits: Array,
    genuine_scores: Array,
    genuine_identity: Array,
    genuine_weight: Array,
    genuine_total: Array,
    share: Array,
    thresholds: Array,
) -> None:
    """Estimates thresholds from weighted impostors, then the genuine share above them.

    Args:
        weights: (replicates, identities) float64.
        first: (tail,) int32 identity of each impostor score, from the highest down.
        second: (tail,) int32 the other identity; the two weights are multiplied.
        scores: (tail,) float64, descending.
        limits: (replicates, rates) float64, ascending in a row: the impostor weight
            that may lie above the threshold.
        genuine_scores: (genuine,) float64, descending.
        genuine_identity: (genuine,) int32.
        genuine_weight: (genuine,) float64, multiplied with the identity's weight.
        genuine_total: (replicates,) float64, what the share is a share of.
        share: (replicates, rates) float64, written.
        thresholds: (replicates, rates) float64, written; minus infinity where the
            whole tail weighs less than the limit.
    """
    tail = len(scores)
    rates = limits.shape[1]
    for r in range(len(weights)):
        weight = weights[r]
        total = 0.0
        rate = 0
        for i in range(tail):
            total += weight[first[i]] * weight[second[i]]
            # A threshold lies between distinct scores only.
            if i + 1 < tail and scores[i + 1] == scores[i]:
                continue
            while rate < rates and total > limits[r, rate]:
                thresholds[r, rate] = scores[i]
                rate += 1
            if rate == rates:
                break
        while rate < rates:
            thresholds[r, rate] = -math.inf
            rate += 1
        accepted = 0.0
        g = 0
        for rate in range(rates):
            while g < len(genuine_scores) and genuine_scores[g] > thresholds[r, rate]:
                accepted += weight[genuine_identity[g]] * genuine_weight[g]
                g += 1
            share[r, rate] = accepted / genuine_total[r]
