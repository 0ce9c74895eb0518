"""Average precision and CMC along a backfill.

Each query is ranked once against both versions of the gallery; then the items move one
after the other, and only a move past a relevant item changes anything.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.backfilling.gallery_versions import (
    GalleryVersions,
    VersionTiles,
)
from keras_bct.evaluation.engine.block_pass import Execution, run_blocks
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.inputs.relevance import Members

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BUCKETS = 2048
# Where there are fewer cut-offs than this, counting anew at each is faster than
# following every move.
_FEW_CUTOFFS = 128


@dataclasses.dataclass(eq=False)
class _Relevant:
    """The relevant items of a block's queries, and the thresholds that they make."""

    offsets: Integers
    exact: Floats
    items: Integers
    columns: Integers
    before: Integers
    after: Integers

    @classmethod
    def of(cls, versions: GalleryVersions, rows: slice, members: Members) -> _Relevant:
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
        return cls(
            offsets,
            scores[first],
            items,
            column,
            threshold[: len(row)],
            threshold[len(row) :],
        )


class _Moves:
    """The moves of other items past thresholds, for each query of a block.

    A thread keeps one for all its blocks: fresh memory costs as much as the work.
    """

    def __init__(self, rows: int, items: int) -> None:
        self.count = np.zeros(rows, np.int64)
        self.columns, self.before, self.after = np.empty(
            (3, rows, max(64, items // 8)), np.int32
        )

    def make_room(self, width: int) -> None:
        """Makes sure that a tile's moves find room."""
        needed = int(self.count.max(initial=0)) + width
        if needed > self.columns.shape[1]:
            capacity = max(needed, 2 * self.columns.shape[1])
            for name in ("columns", "before", "after"):
                old = getattr(self, name)
                larger = np.empty((len(old), capacity), np.int32)
                larger[:, : old.shape[1]] = old
                setattr(self, name, larger)


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
            local.moves = _Moves(tiles.block_rows, len(versions.old.right))
            local.places = np.empty((tiles.block_rows, _BUCKETS), np.int32)
            local.doubtful = np.empty((tiles.block_rows * tiles.width, 2), np.int32)
            sums.append(local.sums)
        members = relevance.members(rows)
        relevant = _Relevant.of(versions, rows, members)
        count = rows.stop - rows.start
        query = np.repeat(np.arange(count), np.diff(relevant.offsets)) + rows.start
        thresholds = versions.old.to_product(relevant.exact, query)
        tolerance = versions.tolerance[rows]
        counts = np.zeros(2 * (len(thresholds) + count), np.int32)
        moves: _Moves = local.moves
        moves.count[:] = 0
        base, scale = np.zeros((2, count), np.float32)
        place_of = local.places[:count]
        open_moves(relevant.offsets, thresholds, tolerance, base, scale, place_of)
        for columns, old, new in tiles.of(rows, members, stop):
            moves.make_room(columns.stop - columns.start)
            doubtful = scan_moves(
                old,
                new,
                relevant.offsets,
                thresholds,
                tolerance,
                base,
                scale,
                place_of,
                columns.start,
                local.found,
                counts,
                moves.count,
                moves.columns,
                moves.before,
                moves.after,
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
                    moves.before,
                    moves.after,
                )
        if stop.is_set():
            return
        follow_moves(
            relevant.offsets,
            counts,
            moves.count,
            moves.columns,
            moves.before,
            moves.after,
            relevant.items,
            relevant.columns,
            relevant.before,
            relevant.after,
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
