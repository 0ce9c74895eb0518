"""What a pass over all pairs has to keep, guessed from a few queries' scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import run_pass
from keras_bct.evaluation.engine.impostor_pass import (
    COUNTED,
    KEPT,
    SAMPLED,
    GenuinePass,
    ScoreGrid,
)
from keras_bct.evaluation.verification.acceptance import allowed_above, depth_for
from keras_bct.evaluation.verification.impostor_counts import Plan
from keras_bct.evaluation.verification.scored_pairs import ScoredPairs

Floats = npt.NDArray[np.float64]

BUCKETS = 8192
"""Of the grid of a pass over all pairs."""

_SAMPLE_BUCKETS = 65536
# Around a threshold whose tail is sampled, pairs are kept up to this share of its
# rank: the sample that places the window draws some 300 queries.
_WINDOW_SHARE = 0.15
# What the sample may be wrong by before a second pass is needed.
_SLACK = 1.25


def plan_pass(
    pairs: ScoredPairs, rates: Sequence[float], equal_error: bool, seed: int
) -> Plan:
    """Plans from a sample of the queries what a pass has to keep.

    Args:
        pairs: All pairs.
        rates: The FARs asked for.
        equal_error: Whether the equal error rate is asked for.
        seed: Of the sample.
    """
    (low, high), limits, total = pairs.bounds, pairs.limits, pairs.impostors
    if total <= limits.tail:
        grid = ScoreGrid.over(low, high, BUCKETS)
        keep = np.full(BUCKETS, KEPT, np.uint8)
        keep[0] = COUNTED
        return Plan(grid, keep, 1.0)
    edges, above, genuine = _sample(pairs, seed)
    # Room for what the sample did not see, within what is possible.
    room = (edges[-1] - edges[0]) / 4
    grid = ScoreGrid.over(
        max(low, edges[0] - room), min(high, edges[-1] + room), BUCKETS
    )
    # Estimated scores from each bucket's lower end up, and from its upper end up.
    lower = np.interp(grid.edges, edges, above, left=total, right=0)
    upper = np.append(lower[1:], 0)
    ranks = [allowed_above(rate, total) for rate in rates]
    if equal_error:
        far = np.interp(genuine, edges, above) / total
        refused = np.arange(len(far)) / len(far)
        ranks.append(int(far[np.argmax(refused >= far)] * total))
    keep = np.full(BUCKETS, COUNTED, np.uint8)
    depths = [depth_for(rank) for rank in ranks]
    deepest = min(max(depths), total)
    keep[upper < _SLACK * deepest] = SAMPLED
    held = [depth for depth in depths if _SLACK * depth <= limits.tail]
    if held:
        # Not a bucket whose ties alone would fill the memory.
        keep[(upper < _SLACK * max(held)) & (lower < 2 * limits.tail)] = KEPT
    for rank, depth in zip(ranks, depths, strict=True):
        if depth not in held:
            reach = min(_WINDOW_SHARE * rank, limits.window)
            near = (lower >= rank - reach) & (upper <= rank + reach)
            if near.any() and lower[near].max() - upper[near].min() < 4 * reach:
                keep[near] = KEPT
    keep[0] = COUNTED
    return Plan(grid, keep, min(1.0, limits.tail / deepest))


def _sample(pairs: ScoredPairs, seed: int) -> tuple[Floats, Floats, Floats]:
    """Estimates the impostor scores' distribution from some queries.

    Returns:
        Edges, ascending; the estimated number of impostors above each; the
        genuine scores of these queries, ascending.
    """
    queries = len(pairs.scoring.left)
    wanted = -(-pairs.limits.sample // len(pairs.scoring.right))
    rows = np.random.default_rng(seed).choice(
        queries, min(queries, max(wanted, 64)), replace=False
    )
    rows.sort()
    some = pairs.take_queries(rows)
    low, high = pairs.scoring.bounds
    while True:
        grid = ScoreGrid.over(low, high, _SAMPLE_BUCKETS)
        keep = np.full(_SAMPLE_BUCKETS, COUNTED, np.uint8)
        impostors = Plan(grid, keep, 0.0).impostor_pass(some)
        genuine = GenuinePass(some.keys)
        run_pass(
            some.scoring,
            some.relevance,
            (genuine, impostors),
            some.execution,
            "sampling",
        )
        histogram = impostors.histogram(some.impostors)
        seen = np.flatnonzero(histogram)
        first, last = max(int(seen[0]), 1), int(seen[-1])
        narrow = last - first < _SAMPLE_BUCKETS // 8
        if not narrow or (last - first) * grid.width < 64 * pairs.tolerance:
            break
        low, high = (
            grid.edges[first],
            grid.edges[first] + grid.width * (last - first + 1),
        )
    edges = grid.edges[first : last + 1]
    edges = np.append(edges, edges[-1] + grid.width)
    counts = np.append(np.cumsum(histogram[::-1])[::-1][first : last + 1], 0)
    return (
        edges,
        counts * (pairs.impostors / some.impostors),
        np.sort(genuine.pairs()[0]),
    )
