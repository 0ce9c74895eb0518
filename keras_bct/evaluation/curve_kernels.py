"""The compiled inner loops of the backfilling curve.

A gallery item that is embedded anew moves from its old score to its new one. Against
the scores of a query's relevant items, old and new ones alike (the thresholds), a
score is reduced to its *place*: `2 u` when it lies above exactly u thresholds, and
`2 u + 1` when it ties with the next one. An item whose place stays the same changes
no metric, and that is nearly every item.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.kernels import bucket_of

Array = npt.NDArray[Any]

_compiled = numba.njit(nogil=True, cache=True, error_model="numpy")


@_compiled
def _place(
    score: np.float32, thresholds: Array, first: int, end: int, tolerance: float
) -> int:
    """The place of a product's score, or -1 where only the exact score can tell."""
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] + tolerance < score:
            low = middle + 1
        else:
            high = middle
    if low < end and score >= thresholds[low] - tolerance:
        return -1
    return 2 * (low - first)


@_compiled
def exact_place(score: float, thresholds: Array, first: int, end: int) -> int:
    """The place of an exact score."""
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] < score:
            low = middle + 1
        else:
            high = middle
    tied = low < end and thresholds[low] == score
    return 2 * (low - first) + int(tied)


@_compiled
def open_places(
    offsets: Array,
    thresholds: Array,
    tolerance: Array,
    base: Array,
    scale: Array,
    place_of: Array,
) -> None:
    """Lays a grid of buckets over the thresholds of each row.

    Args:
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, on the product's scale.
        tolerance: (rows,) float64.
        base: (rows,) float32, written.
        scale: (rows,) float32, written.
        place_of: (rows, buckets) int32, written: the place of every score in a bucket,
            -1 where the bucket may hold a threshold.
    """
    buckets = place_of.shape[1]
    top = np.float32(buckets - 1)
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        low = np.float32(thresholds[first] - tolerance[row])
        high = np.float32(thresholds[end - 1] + tolerance[row])
        base[row] = low
        scale[row] = min(
            np.float32(1e30),
            np.float32(buckets - 3) / max(high - low, np.float32(1e-30)),
        )
        done = 0
        for i in range(first, end):
            left = bucket_of(
                np.float32(thresholds[i] - tolerance[row]), base[row], scale[row], top
            )
            right = bucket_of(
                np.float32(thresholds[i] + tolerance[row]), base[row], scale[row], top
            )
            for bucket in range(done, left):
                place_of[row, bucket] = 2 * (i - first)
            for bucket in range(max(left, done), right + 1):
                place_of[row, bucket] = -1
            done = max(done, right + 1)
        for bucket in range(done, buckets):
            place_of[row, bucket] = 2 * (end - first)


@_compiled
def scan_moves(
    old: Array,
    new: Array,
    offsets: Array,
    thresholds: Array,
    tolerance: Array,
    base: Array,
    scale: Array,
    place_of: Array,
    first_column: int,
    found: Array,
    counts: Array,
    move_count: Array,
    move_columns: Array,
    move_old: Array,
    move_new: Array,
    doubtful_moves: Array,
) -> int:
    """Finds the places of a tile's scores before and after.

    Args:
        old: (rows, width) float32.
        new: (rows, width) float32.
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, on the product's scale.
        tolerance: (rows,) float64.
        base: (rows,) float32.
        scale: (rows,) float32.
        place_of: (rows, buckets) int32.
        first_column: The gallery item of the tile's first column.
        found: (width + 1,) int32, working space.
        counts: (2 thresholds + 2 rows,) int32, added to: at
            `2 offsets[row] + 2 row + p + 1` the items whose old score has place p.
        move_count: (rows,) int64, added to: moves of each row so far.
        move_columns: (rows, capacity) int32, written: the item.
        move_old: (rows, capacity) int32, written: its old place, -1 where doubtful.
        move_new: (rows, capacity) int32, written: its new place, -1 where doubtful.
        doubtful_moves: (rows * width, 2) int32, written: rows and numbers of moves.

    Returns:
        How many moves are doubtful.
    """
    rows, width = old.shape
    top = np.float32(place_of.shape[1] - 1)
    doubtful = 0
    for row in range(rows):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        floor = np.float32(thresholds[first] - tolerance[row])
        old_row, new_row = old[row], new[row]
        count = 0
        for column in range(width):
            # Without a branch. What is below every threshold before and after is not
            # even counted.
            found[count] = column
            count += (old_row[column] >= floor) | (new_row[column] >= floor)
        row_places = place_of[row]
        row_base, row_scale = base[row], scale[row]
        columns, befores, afters = move_columns[row], move_old[row], move_new[row]
        # One more than the place, so that the doubtful ones are counted at 0.
        row_counts = counts[2 * first + 2 * row : 2 * end + 2 * row + 2]
        moves = move_count[row]
        unclear = 0
        for i in range(count):
            column = found[i]
            before = row_places[bucket_of(old_row[column], row_base, row_scale, top)]
            after = row_places[bucket_of(new_row[column], row_base, row_scale, top)]
            row_counts[before + 1] += 1
            columns[moves] = first_column + column
            befores[moves] = before
            afters[moves] = after
            # No more columns than have been read are written over.
            found[unclear] = moves
            unclear += (before < 0) | (after < 0)
            moves += (before != after) | (before < 0)
        row_counts[0] = 0
        for i in range(unclear):
            move = found[i]
            column = columns[move] - first_column
            if befores[move] < 0:
                place = _place(old_row[column], thresholds, first, end, tolerance[row])
                befores[move] = place
                row_counts[place + 1] += place >= 0
            if afters[move] < 0:
                afters[move] = _place(
                    new_row[column], thresholds, first, end, tolerance[row]
                )
            if befores[move] < 0 or afters[move] < 0:
                doubtful_moves[doubtful, 0] = row
                doubtful_moves[doubtful, 1] = move
                doubtful += 1
        move_count[row] = moves
    return doubtful


@_compiled
def settle_moves(
    doubtful_moves: Array,
    old_scores: Array,
    new_scores: Array,
    offsets: Array,
    thresholds: Array,
    counts: Array,
    move_old: Array,
    move_new: Array,
) -> None:
    """Finds the doubtful places from exact scores.

    Args:
        doubtful_moves: (k, 2) int32, rows and numbers of moves.
        old_scores: (k,) float64, exact.
        new_scores: (k,) float64, exact.
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, exact.
        counts: As in `scan_moves`, added to.
        move_old: As in `scan_moves`, written.
        move_new: As in `scan_moves`, written.
    """
    for i in range(len(doubtful_moves)):
        row, move = doubtful_moves[i, 0], doubtful_moves[i, 1]
        first, end = offsets[row], offsets[row + 1]
        if move_old[row, move] < 0:
            place = exact_place(old_scores[i], thresholds, first, end)
            move_old[row, move] = place
            counts[2 * first + 2 * row + place + 1] += 1
        if move_new[row, move] < 0:
            move_new[row, move] = exact_place(new_scores[i], thresholds, first, end)


@_compiled
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


@_compiled
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
        relevant_columns: (relevant,) int64 ascending: when a relevant item moves.
        relevant_before: (relevant,) int64 the threshold that is its old score.
        relevant_after: (relevant,) int64 the threshold that is its new score.
        places: (k,) int64, the places of CMC@k.
        weight: Of the query.
        precision: (n + 1,) float64, added to: changes of average precision; index i
            is the change that the i-th item makes, index 0 the start.
        matches: (k, n + 1) float64, added to: the same for CMC at each of `places`.
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
            term[threshold] = holds[threshold] * (
                running / (running + not_below[threshold])
            )
            average += term[threshold]
    scale = weight / total
    precision[0] += average * scale
    match = np.zeros(len(places))
    for i in range(len(places)):
        match[i] = _match(
            places[i], holds[best], tied[best], not_below[best] - tied[best]
        )
        matches[i, 0] += match[i] * weight
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
                    count = found[threshold]
                    value = holds[threshold] * (count / (count + not_below[threshold]))
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
                    count = found[threshold]
                    value = holds[threshold] * (count / (count + not_below[threshold]))
                change += value - term[threshold]
                term[threshold] = value
            touched = high >= best
            if touched:
                best = thresholds - 1
                while holds[best] == 0:
                    best -= 1
        if change != 0.0:
            precision[column + 1] += change * scale
        if touched:
            for i in range(len(places)):
                value = _match(
                    places[i], holds[best], tied[best], not_below[best] - tied[best]
                )
                if value != match[i]:
                    matches[i, column + 1] += (value - match[i]) * weight
                    match[i] = value


@_compiled
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
        precision: (points,) float64, added to: average precision.
        matches: (k, points) float64, added to: CMC at each of `places`.
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
                        matches[i, point] += weight * _match(
                            places[i], here, tied, above
                        )
                found += here
                average += here * (found / (found + above + tied))
            above += tied
        precision[point] += average * weight / total


@_compiled
def sweep(
    offsets: Array,
    counts: Array,
    move_count: Array,
    move_columns: Array,
    move_old: Array,
    move_new: Array,
    items: Array,
    relevant_columns: Array,
    relevant_before: Array,
    relevant_after: Array,
    places: Array,
    group: Array,
    weights: Array,
    precision: Array,
    matches: Array,
) -> None:
    """Follows each query of a block through the backfill.

    Args:
        offsets: (rows + 1,) int64 into the thresholds of all queries.
        counts: As in `scan_moves`.
        move_count: As in `scan_moves`.
        move_columns: As in `scan_moves`.
        move_old: As in `scan_moves`, all settled.
        move_new: As in `scan_moves`, all settled.
        items: (rows + 1,) int64 into the relevant items of all queries.
        relevant_columns: (relevant,) int64, as in `_sweep_query`.
        relevant_before: (relevant,) int64, as in `_sweep_query`.
        relevant_after: (relevant,) int64, as in `_sweep_query`.
        places: (k,) int64, the places of CMC@k.
        group: (rows,) int64, the group of each query.
        weights: (groups,) float64, of each query of a group.
        precision: (groups, n + 1) float64, as in `_sweep_query`.
        matches: (groups, k, n + 1) float64, as in `_sweep_query`.
    """
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        moves = move_count[row]
        part = slice(items[row], items[row + 1])
        _sweep_query(
            end - first,
            counts[2 * (first + row) + 1 : 2 * (end + row) + 2],
            move_columns[row, :moves],
            move_old[row, :moves],
            move_new[row, :moves],
            relevant_columns[part],
            relevant_before[part],
            relevant_after[part],
            places,
            weights[group[row]],
            precision[group[row]],
            matches[group[row]],
        )


@_compiled
def visit(
    offsets: Array,
    counts: Array,
    move_count: Array,
    move_columns: Array,
    move_old: Array,
    move_new: Array,
    items: Array,
    relevant_columns: Array,
    relevant_before: Array,
    relevant_after: Array,
    places: Array,
    group: Array,
    weights: Array,
    cutoffs: Array,
    precision: Array,
    matches: Array,
) -> None:
    """Values each query of a block at a few cut-offs.

    Args:
        offsets: (rows + 1,) int64 into the thresholds of all queries.
        counts: As in `scan_moves`.
        move_count: As in `scan_moves`.
        move_columns: As in `scan_moves`.
        move_old: As in `scan_moves`, all settled.
        move_new: As in `scan_moves`, all settled.
        items: (rows + 1,) int64 into the relevant items of all queries.
        relevant_columns: (relevant,) int64, as in `_sweep_query`.
        relevant_before: (relevant,) int64, as in `_sweep_query`.
        relevant_after: (relevant,) int64, as in `_sweep_query`.
        places: (k,) int64, the places of CMC@k.
        group: (rows,) int64, the group of each query.
        weights: (groups,) float64, of each query of a group.
        cutoffs: (points,) int64 ascending: so many items have moved.
        precision: (groups, points) float64, as in `_visit_query`.
        matches: (groups, k, points) float64, as in `_visit_query`.
    """
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        moves = move_count[row]
        part = slice(items[row], items[row + 1])
        _visit_query(
            end - first,
            counts[2 * (first + row) + 1 : 2 * (end + row) + 2],
            move_columns[row, :moves],
            move_old[row, :moves],
            move_new[row, :moves],
            relevant_columns[part],
            relevant_before[part],
            relevant_after[part],
            places,
            weights[group[row]],
            cutoffs,
            precision[group[row]],
            matches[group[row]],
        )


@_compiled
def keep_above(
    scores: Array,
    floor: Array,
    found: Array,
    kept_rows: Array,
    kept_columns: Array,
) -> int:
    """Finds the pairs of a tile that reach a floor.

    Args:
        scores: (rows, width) float32.
        floor: (rows,) float32.
        found: (width + 1,) int32, working space.
        kept_rows: (capacity,) int64, written.
        kept_columns: (capacity,) int64, written.

    Returns:
        How many there are.
    """
    kept = 0
    for row in range(scores.shape[0]):
        row_scores = scores[row]
        row_floor = floor[row]
        count = 0
        for column in range(scores.shape[1]):
            found[count] = column
            count += row_scores[column] >= row_floor
        for i in range(count):
            kept_rows[kept] = row
            kept_columns[kept] = found[i]
            kept += 1
    return kept


@_compiled
def thresholds_along(
    scores: Array,
    start: Array,
    stop: Array,
    by_start: Array,
    by_stop: Array,
    cutoffs: Array,
    rank: int,
    thresholds: Array,
) -> bool:
    """Finds the score of one rank at each cut-off, among scores that come and go.

    Args:
        scores: (k,) float64, descending.
        start: (k,) int64: a score counts from this cut-off on.
        stop: (k,) int64: and below this one.
        by_start: (k,) int64, the order of `start`.
        by_stop: (k,) int64, the order of `stop`.
        cutoffs: (points,) int64 ascending.
        rank: How many counting scores precede the one looked for.
        thresholds: (points,) float64, written.

    Returns:
        Whether there were enough scores at every cut-off.
    """
    block = 4096
    active = np.zeros(len(scores), np.bool_)
    in_block = np.zeros(len(scores) // block + 1, np.int64)
    coming, going = 0, 0
    for point in range(len(cutoffs)):
        while coming < len(scores) and start[by_start[coming]] <= cutoffs[point]:
            i = by_start[coming]
            active[i] = True
            in_block[i // block] += 1
            coming += 1
        while going < len(scores) and stop[by_stop[going]] <= cutoffs[point]:
            i = by_stop[going]
            if active[i]:
                active[i] = False
                in_block[i // block] -= 1
            going += 1
        left = rank
        b = 0
        while b < len(in_block) and in_block[b] <= left:
            left -= in_block[b]
            b += 1
        if b == len(in_block):
            return False
        i = b * block
        while True:
            if active[i]:
                if left == 0:
                    break
                left -= 1
            i += 1
        thresholds[point] = scores[i]
    return True


@_compiled
def count_along(
    old: Array,
    new: Array,
    columns: Array,
    cutoffs: Array,
    thresholds: Array,
    accepted: Array,
) -> None:
    """Counts the genuine pairs above the threshold of each cut-off.

    Args:
        old: (pairs,) float64, exact.
        new: (pairs,) float64, exact.
        columns: (pairs,) int64, the gallery item of each pair.
        cutoffs: (points,) int64.
        thresholds: (points,) float64.
        accepted: (points,) int64, added to.
    """
    for pair in range(len(columns)):
        for point in range(len(cutoffs)):
            moved = columns[pair] < cutoffs[point]
            score = new[pair] if moved else old[pair]
            accepted[point] += score > thresholds[point]
