"""Rates of acceptance in replicates of the bootstrap."""

from __future__ import annotations

import math

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled, reordered


@compiled
def accepted_share(
    weights: Array,
    first: Array,
    second: Array,
    scores: Array,
    limits: Array,
    floor: float,
    genuine_scores: Array,
    genuine_identity: Array,
    genuine_weight: Array,
    block_size: int,
    accepted_before: Array,
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
        floor: The threshold where the whole tail weighs no more than the limit.
        genuine_scores: (genuine,) float64, descending.
        genuine_identity: (genuine,) int32.
        genuine_weight: (genuine,) float64, multiplied with the identity's weight.
        block_size: Genuine scores in a block.
        accepted_before: (replicates, blocks + 1) float64, the weight of all genuine
            scores before each block.
        share: (replicates, rates) float64, written.
        thresholds: (replicates, rates) float64, written.
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
            thresholds[r, rate] = floor
            rate += 1
        for rate in range(rates):
            threshold = thresholds[r, rate]
            # The first block that does not start above the threshold ends the search.
            low, high = 0, accepted_before.shape[1] - 1
            while low < high:
                middle = (low + high) // 2
                if genuine_scores[middle * block_size] > threshold:
                    low = middle + 1
                else:
                    high = middle
            block = max(low - 1, 0)
            accepted = accepted_before[r, block]
            g = block * block_size
            while g < len(genuine_scores) and genuine_scores[g] > threshold:
                accepted += weight[genuine_identity[g]] * genuine_weight[g]
                g += 1
            share[r, rate] = accepted


@compiled
def equal_error(
    weights: Array,
    first: Array,
    second: Array,
    scores: Array,
    impostor_total: Array,
    genuine_scores: Array,
    genuine_identity: Array,
    genuine_total: Array,
    error: Array,
) -> None:
    """Finds where the shares of accepted impostors and refused genuine pairs meet.

    Args:
        weights: As in `accepted_share`.
        first: As in `accepted_share`.
        second: As in `accepted_share`.
        scores: As in `accepted_share`.
        impostor_total: (replicates,) float64, the weight of all impostors.
        genuine_scores: As in `accepted_share`.
        genuine_identity: As in `accepted_share`.
        genuine_total: (replicates,) float64.
        error: (replicates,) float64, written; NaN where the tail ends before.
    """
    for r in range(len(weights)):
        weight = weights[r]
        accepted, passed = 0.0, 0.0
        far, frr = 0.0, 1.0
        i, g = 0, 0
        error[r] = math.nan
        while i < len(scores):
            score = scores[i]
            if g < len(genuine_scores):
                score = max(score, genuine_scores[g])
            while i < len(scores) and scores[i] == score:
                passed += weight[first[i]] * weight[second[i]]
                i += 1
            while g < len(genuine_scores) and genuine_scores[g] == score:
                accepted += weight[genuine_identity[g]]
                g += 1
            new_far = passed / impostor_total[r]
            new_frr = 1 - accepted / genuine_total[r]
            if new_far >= new_frr:
                # The straight line between two corners of the ROC.
                rise = new_far - far + frr - new_frr
                part = (frr - far) / rise if rise > 0 else 1.0
                error[r] = far + part * (new_far - far)
                break
            far, frr = new_far, new_frr


@reordered
def weigh_pairs(
    weights: Array, first: Array, second: Array, count: Array, total: Array
) -> None:
    """Sums the weights of impostor pairs for several replicates at once.

    Args:
        weights: (identities, replicates) float64.
        first: (pairs,) int64 identities.
        second: (pairs,) int64 identities.
        count: (pairs,) int64, how many pairs join the two.
        total: (replicates,) float64, added to.
    """
    for pair in range(len(first)):
        left = weights[first[pair]]
        right = weights[second[pair]]
        for replicate in range(len(total)):
            total[replicate] += left[replicate] * right[replicate] * count[pair]
