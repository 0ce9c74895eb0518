"""Average precision and CMC along a backfill.

Each query is ranked once against both versions of the gallery; then the items move one
after the other, and only a move past a relevant item changes anything.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.backfilling.gallery_versions import (
    GalleryVersions,
    VersionTiles,
)
from keras_bct.evaluation.engine.block_pass import Execution, run_blocks
from keras_bct.evaluation.engine.moves import Moves, PlaceGrid, Relevant
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.inputs.relevance import Members

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BUCKETS = 2048
# Where there are fewer cut-offs than this, counting anew at each is faster than
# following every move.
_FEW_CUTOFFS = 128


def retrieval_curves(
    versions: GalleryVersions,
    names: Sequence[MetricName],
    cutoffs: Integers,
    group: Integers,
    execution: Execution,
) -> dict[str, Floats]:
    """Values mAP and CMC at each cut-off.

    Args:
        versions: The queries against both versions of the gallery.
        names: The metrics.
        cutoffs: (points,) int64 ascending.
        group: (m,) int64, the group of each query.
        execution: How the work is done.

    Returns:
        For each metric (groups + 1, points) float64: the groups, and last all queries.
    """
    from keras_bct.evaluation.engine.kernels.moves import (
        open_moves,
        scan_moves,
        settle_moves,
    )
    from keras_bct.evaluation.engine.kernels.retrieval_along import UNITS, follow_moves

    relevance = versions.relevance
    tiles = VersionTiles(versions.old, versions.new, execution)
    places = np.array(
        sorted({name.count or 1 for name in names if name.kind != "mAP"}), np.int64
    )
    groups = int(group.max()) + 1
    answerable = relevance.kept_members > 0
    sizes = np.bincount(group[answerable], minlength=groups)
    with np.errstate(divide="ignore"):
        weights = 1 / sizes
    few = len(cutoffs) <= _FEW_CUTOFFS
    points = len(cutoffs) if few else len(versions.old.right) + 1
    local = threading.local()
    sums: list[tuple[Integers, Integers]] = []

    def work(rows: slice, stop: threading.Event) -> None:
        if not hasattr(local, "sums"):
            local.sums = (
                np.zeros((groups, points), np.int64),
                np.zeros((groups, len(places), points), np.int64),
            )
            local.found = np.empty(tiles.width + 1, np.int32)
            local.moves = Moves.none_yet(tiles.block_rows, len(versions.old.right))
            local.places = np.empty((tiles.block_rows, _BUCKETS), np.int32)
            local.doubtful = np.empty((tiles.block_rows * tiles.width, 2), np.int32)
            sums.append(local.sums)
        members = relevance.members(rows)
        relevant = _relevant(versions, rows, members)
        count = rows.stop - rows.start
        query = np.repeat(np.arange(count), np.diff(relevant.offsets)) + rows.start
        thresholds = versions.old.to_product(relevant.exact, query)
        counts = np.zeros(2 * (len(thresholds) + count), np.int32)
        moves: Moves = local.moves
        moves.made[:] = 0
        base, scale = np.zeros((2, count), np.float32)
        grid = PlaceGrid(
            relevant.offsets,
            thresholds,
            versions.tolerance[rows],
            base,
            scale,
            local.places[:count],
        )
        open_moves(grid)
        for columns, old, new in tiles.of(rows, members, stop):
            moves = local.moves = moves.with_room(columns.stop - columns.start)
            doubtful = scan_moves(
                old,
                new,
                grid,
                columns.start,
                local.found,
                counts,
                moves,
                local.doubtful,
            )
            if doubtful:
                which = local.doubtful[:doubtful]
                row = which[:, 0].astype(np.int64)
                column = moves.columns[which[:, 0], which[:, 1]].astype(np.int64)
                settle_moves(
                    which,
                    versions.old.exact(row + rows.start, column),
                    versions.new.exact(row + rows.start, column),
                    relevant.offsets,
                    relevant.exact,
                    counts,
                    moves,
                )
        if stop.is_set():
            return
        follow_moves(
            counts,
            moves,
            relevant,
            places,
            group[rows],
            weights,
            cutoffs,
            not few,
            *local.sums,
        )

    run_blocks(
        len(versions.old.left), tiles.block_rows, work, execution, "backfilling curve"
    )
    precision, matches = (np.sum(parts, axis=0) for parts in zip(*sums, strict=True))
    if not few:
        # The changes, summed up to each cut-off.
        precision = np.cumsum(precision, axis=-1)[..., cutoffs]
        matches = np.cumsum(matches, axis=-1)[..., cutoffs]
    precision, matches = precision / UNITS, matches / UNITS
    curves = {}
    for name in names:
        if name.kind == "mAP":
            by_group = precision
        else:
            by_group = matches[:, np.searchsorted(places, name.count or 1)]
        overall = (sizes / sizes.sum()) @ np.nan_to_num(by_group)
        by_group[sizes == 0] = np.nan
        curves[name.name] = np.vstack([by_group, overall])
    return curves


def _relevant(versions: GalleryVersions, rows: slice, members: Members) -> Relevant:
    """The members of a block's queries, and their scores before and after."""
    row, column = members.rows[members.kept], members.columns[members.kept]
    scores = np.concatenate(
        [
            versions.old.exact(row + rows.start, column),
            versions.new.exact(row + rows.start, column),
        ]
    )
    both = np.concatenate([row, row])
    order = np.lexsort((scores, both))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(both[order]) != 0) | (np.diff(scores[order]) != 0)
    threshold = np.empty(len(order), np.int64)
    threshold[order] = np.cumsum(new) - 1
    first = order[new]
    count = len(members.offsets) - 1
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(both[first], minlength=count))]
    )
    threshold -= offsets[both]
    items = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))])
    return Relevant(
        offsets,
        scores[first],
        items,
        column,
        threshold[: len(row)],
        threshold[len(row) :],
    )
