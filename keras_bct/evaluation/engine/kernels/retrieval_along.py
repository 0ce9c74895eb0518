"""Average precision and CMC along a backfill, from the moves past thresholds."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled, written_out
from keras_bct.evaluation.engine.moves import Moves, Relevant

UNITS = 2.0**62
"""To one: sums over queries are whole numbers of units, since those of floating-point
numbers would tell by their last digits which thread had which queries."""


@compiled
def _match(first: int, relevant: int, tied: int, above: int) -> float:
    """Probability of a relevant item in the first places, as `match_probability`."""
    places = min(first - above, relevant + tied)
    if places <= 0:
        return 0.0
    miss = 1.0
    for i in range(places):
        if tied <= i:
            return 1.0
        miss *= (tied - i) / (tied - i + relevant)
    return 1.0 - miss


@written_out
def _term(here: int, found: int, others: int) -> float:
    """What the relevant items at a threshold add to average precision.

    Args:
        here: How many there are.
        found: Relevant items from the highest threshold to this one.
        others: Other items that are not below it.
    """
    return here * (found / (found + others))


@written_out
def _units(value: float) -> int:
    """A number between -1 and 1 in units."""
    return int(np.rint(value * UNITS))


@compiled
def _sweep_query(
    thresholds: int,
    counts: Array,
    columns: Array,
    before: Array,
    after: Array,
    relevant_columns: Array,
    relevant_before: Array,
    relevant_after: Array,
    places: Array,
    weight: float,
    precision: Array,
    matches: Array,
) -> None:
    """Follows one query through the backfill, a gallery item at a time.

    Args:
        thresholds: How many there are.
        counts: (2 thresholds + 1,) int32, other items by old place.
        columns: (moves,) int32 ascending: when another item moves.
        before: (moves,) int32 its old place.
        after: (moves,) int32 its new place.
        relevant_columns: (relevant,) int64, as in `Relevant`, of this query.
        relevant_before: (relevant,) int64, as in `Relevant`, of this query.
        relevant_after: (relevant,) int64, as in `Relevant`, of this query.
        places: As in `follow_moves`.
        weight: Of the query.
        precision: (n + 1,) int64, as in `follow_moves`.
        matches: (k, n + 1) int64, as in `follow_moves`.
    """
    total = len(relevant_columns)
    # Other items that are not below each threshold, and that tie with it.
    not_below = np.zeros(thresholds, np.int64)
    tied = np.zeros(thresholds + 1, np.int64)
    running = 0
    for threshold in range(thresholds - 1, -1, -1):
        tied[threshold] = counts[2 * threshold + 1]
        running += counts[2 * threshold + 2] + tied[threshold]
        not_below[threshold] = running
    holds = np.zeros(thresholds, np.int64)
    for i in range(total):
        holds[relevant_before[i]] += 1
    found = np.zeros(thresholds, np.int64)
    term = np.zeros(thresholds)
    running = 0
    average = 0.0
    best = 0
    for threshold in range(thresholds - 1, -1, -1):
        if holds[threshold] and running == 0:
            best = threshold
        running += holds[threshold]
        found[threshold] = running
        if holds[threshold]:
            term[threshold] = _term(holds[threshold], running, not_below[threshold])
            average += term[threshold]
    scale = weight / total
    precision[0] += _units(average * scale)
    match = np.zeros(len(places))
    for i in range(len(places)):
        match[i] = _match(
            places[i], holds[best], tied[best], not_below[best] - tied[best]
        )
        matches[i, 0] += _units(match[i] * weight)
    move, relevant = 0, 0
    while move < len(columns) or relevant < total:
        if relevant == total or (
            move < len(columns) and columns[move] < relevant_columns[relevant]
        ):
            column = np.int64(columns[move])
            start, end = before[move], after[move]
            move += 1
            step = 1 if end > start else -1
            low, high = min(start, end), max(start, end)
            touched = high >= 2 * best + 1
            # Odd is a tie; place p is not below thresholds before (p + 1) // 2.
            tied[start // 2] -= start & 1
            tied[end // 2] += end & 1
            change = 0.0
            for threshold in range((low + 1) // 2, (high + 1) // 2):
                not_below[threshold] += step
                if holds[threshold]:
                    value = _term(
                        holds[threshold], found[threshold], not_below[threshold]
                    )
                    change += value - term[threshold]
                    term[threshold] = value
        else:
            column = relevant_columns[relevant]
            start, end = relevant_before[relevant], relevant_after[relevant]
            relevant += 1
            if start == end:
                continue
            holds[start] -= 1
            holds[end] += 1
            low, high = min(start, end), max(start, end)
            step = 1 if end > start else -1
            change = 0.0
            for threshold in range(low, high + 1):
                if threshold > low:
                    found[threshold] += step
                value = 0.0
                if holds[threshold]:
                    value = _term(
                        holds[threshold], found[threshold], not_below[threshold]
                    )
                change += value - term[threshold]
                term[threshold] = value
            touched = high >= best
            if touched:
                best = thresholds - 1
                while holds[best] == 0:
                    best -= 1
        if change != 0.0:
            precision[column + 1] += _units(change * scale)
        if touched:
            for i in range(len(places)):
                value = _match(
                    places[i], holds[best], tied[best], not_below[best] - tied[best]
                )
                if value != match[i]:
                    matches[i, column + 1] += _units((value - match[i]) * weight)
                    match[i] = value


@compiled
def _visit_query(
    thresholds: int,
    counts: Array,
    columns: Array,
    before: Array,
    after: Array,
    relevant_columns: Array,
    relevant_before: Array,
    relevant_after: Array,
    places: Array,
    weight: float,
    cutoffs: Array,
    precision: Array,
    matches: Array,
) -> None:
    """Values one query at a few cut-offs, counting anew at each.

    Args:
        thresholds: As in `_sweep_query`.
        counts: As in `_sweep_query`; changed.
        columns: As in `_sweep_query`.
        before: As in `_sweep_query`.
        after: As in `_sweep_query`.
        relevant_columns: As in `_sweep_query`.
        relevant_before: As in `_sweep_query`.
        relevant_after: As in `_sweep_query`.
        places: As in `_sweep_query`.
        weight: As in `_sweep_query`.
        cutoffs: (points,) int64 ascending: so many items have moved.
        precision: (points,) int64 units, added to: average precision.
        matches: (k, points) int64 units, added to: CMC at each of `places`.
    """
    total = len(relevant_columns)
    holds = np.zeros(thresholds, np.int64)
    for i in range(total):
        holds[relevant_before[i]] += 1
    move, relevant = 0, 0
    for point in range(len(cutoffs)):
        while move < len(columns) and columns[move] < cutoffs[point]:
            counts[before[move]] -= 1
            counts[after[move]] += 1
            move += 1
        while relevant < total and relevant_columns[relevant] < cutoffs[point]:
            holds[relevant_before[relevant]] -= 1
            holds[relevant_after[relevant]] += 1
            relevant += 1
        above, found = 0, 0
        average = 0.0
        for threshold in range(thresholds - 1, -1, -1):
            above += counts[2 * threshold + 2]
            tied = counts[2 * threshold + 1]
            here = holds[threshold]
            if here:
                if found == 0:
                    for i in range(len(places)):
                        matches[i, point] += _units(
                            weight * _match(places[i], here, tied, above)
                        )
                found += here
                average += _term(here, found, above + tied)
            above += tied
        precision[point] += _units(average * weight / total)


@compiled
def follow_moves(
    counts: Array,
    moves: Moves,
    relevant: Relevant,
    places: Array,
    group: Array,
    weights: Array,
    cutoffs: Array,
    every_step: bool,
    precision: Array,
    matches: Array,
) -> None:
    """Follows each query of a block through the backfill.

    Args:
        counts: As in `scan_moves`; changed at a few cut-offs.
        moves: All settled.
        relevant: The items that other items move past, and that move themselves.
        places: (k,) int64, the places of CMC@k.
        group: (rows,) int64, the group of each query.
        weights: (groups,) float64, of each query of a group.
        cutoffs: (points,) int64 ascending: so many items have moved.
        every_step: Whether to follow every move, or to count anew at each cut-off.
        precision: (groups, n + 1) int64 units for every step, added to: changes of
            average precision; index i is the change that the i-th item makes, index 0
            the start. Else (groups, points), added to: average precision.
        matches: (groups, k, n + 1) or (groups, k, points) int64 units, added to: the
            same for CMC at each of `places`.
    """
    offsets, items = relevant.offsets, relevant.items
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        count = moves.made[row]
        part = slice(items[row], items[row + 1])
        query = (
            end - first,
            counts[2 * (first + row) + 1 : 2 * (end + row) + 2],
            moves.columns[row, :count],
            moves.before[row, :count],
            moves.after[row, :count],
            relevant.columns[part],
            relevant.before[part],
            relevant.after[part],
            places,
            weights[group[row]],
        )
        sums = (precision[group[row]], matches[group[row]])
        if every_step:
            _sweep_query(*query, *sums)
        else:
            _visit_query(*query, cutoffs, *sums)
