"""The backfilling curve: a metric after every step of the backfill (FastFill, sec. 4).

At a cut-off c the first c gallery items of an order carry their new embeddings, the
rest their old (mapped) ones. Each query is ranked once against both versions of the
gallery; then the items move one after the other, and only a move past a relevant item
changes anything.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.acceptance import allowed_above
from keras_bct.evaluation.block_pass import (
    Execution,
    run_blocks,
    slices,
    tile_width,
)
from keras_bct.evaluation.embedding_set import EmbeddingSet
from keras_bct.evaluation.metric_name import MetricName
from keras_bct.evaluation.relevance import Members, Relevance
from keras_bct.evaluation.scoring import Scoring

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

PAPER_POINTS = 22
"""Equally spaced cut-offs over which the papers average, both ends included."""

MOST_ACCEPTANCE_POINTS = 101
"""Cut-offs at which TAR is measured, at most."""

_BUCKETS = 2048
# Smaller blocks than one evaluation has: two products share the cache.
_BLOCK_ROWS = 192
# Where there are fewer cut-offs than this, counting anew at each is faster than
# following every move.
_FEW_CUTOFFS = 128
# Rows drawn to guess the lowest threshold of TAR, and how much lower to keep scores.
_SAMPLED_ROWS = 256
_SLACK = 1.5
_MOST_KEPT = 2**25


def paper_cutoffs(items: int) -> Integers:
    """(22,) int64, the cut-offs of the papers: `floor(i * items / 21)`.

    Example:
        >>> paper_cutoffs(42).tolist()[:4]
        [0, 2, 4, 6]
    """
    return np.arange(PAPER_POINTS) * items // (PAPER_POINTS - 1)


@dataclasses.dataclass(frozen=True, eq=False)
class BackfillingCurve:
    """A metric along the backfill.

    Attributes:
        items: How many gallery items there are.
        cutoffs: For each metric (points,) int64, ascending: so many items are new.
        values: For each metric (points,) float64.
        groups: For each group's name the same values over its queries alone.
    """

    items: int
    cutoffs: Mapping[str, Integers]
    values: Mapping[str, Floats]
    groups: Mapping[str, Mapping[str, Floats]]

    def area(self, metric: str, group: str | None = None) -> float:
        """The plain mean over the 22 cut-offs of the papers.

        Args:
            metric: Its name.
            group: A group's name; None: all queries.

        Raises:
            ValueError: The curve was not measured at one of these cut-offs.
        """
        places = np.searchsorted(self.cutoffs[metric], paper_cutoffs(self.items))
        places = np.minimum(places, len(self.cutoffs[metric]) - 1)
        if (self.cutoffs[metric][places] != paper_cutoffs(self.items)).any():
            raise ValueError(
                f"`metric`: {metric!r} was not measured at the 22 cut-offs of the "
                "papers. Leave `cutoffs` out, or take `paper_cutoffs`."
            )
        return float(self._values(metric, group)[places].mean())

    def exact_area(self, metric: str, group: str | None = None) -> float:
        """The area under the curve, by the trapezoid between its points.

        Over all n + 1 cut-offs this is the exact area.

        Args:
            metric: Its name.
            group: A group's name; None: all queries.
        """
        share = self.cutoffs[metric] / self.items
        values = self._values(metric, group)
        middles = (values[1:] + values[:-1]) / 2
        return float((middles * np.diff(share)).sum() / (share[-1] - share[0]))

    def normalised_area(self, metric: str, old_old: float, new_new: float) -> float:
        """The area between what the old and the new model reach alone.

        Args:
            metric: Its name.
            old_old: M(old, old).
            new_new: M(new, new).

        Returns:
            `(area - old_old) / (new_new - old_old)`.

        Raises:
            ValueError: The new model is no better than the old one.
        """
        if new_new <= old_old:
            raise ValueError(
                "`new_new` should be above `old_old` for an area between them. "
                f"Received: {new_new} and {old_old}."
            )
        return (self.area(metric) - old_old) / (new_new - old_old)

    def gap(self, metric: str) -> Floats:
        """(points,) the difference between the best and the worst group."""
        values = np.stack([curves[metric] for curves in self.groups.values()])
        return np.asarray(values.max(axis=0) - values.min(axis=0))

    def _values(self, metric: str, group: str | None) -> Floats:
        return self.values[metric] if group is None else self.groups[group][metric]


def backfilling_curve(
    old: EmbeddingSet,
    new: EmbeddingSet,
    order: npt.NDArray[Any],
    *,
    queries: EmbeddingSet | None = None,
    metrics: Sequence[str] = ("retrieval/mAP", "retrieval/CMC@1", "retrieval/CMC@5"),
    cutoffs: npt.NDArray[Any] | None = None,
    distance: str = "l2",
    exclude: Sequence[str] = ("self",),
    groups: npt.NDArray[Any] | None = None,
    execution: Execution | None = None,
) -> BackfillingCurve:
    """Measures metrics along a backfill, exactly.

    Args:
        old: n gallery items as they are stored (or mapped into the new space).
        new: The same items embedded anew.
        order: (n,) integers: rows of the gallery in the order of the backfill.
        queries: m items; None: `new`, as in FastFill, each without itself.
        metrics: `retrieval/mAP`, `retrieval/CMC@k` or `verification/TAR@FAR=x`.
        cutoffs: (points,) integers ascending, how many items are new; None: 0 to n
            for retrieval, and 101 for TAR, the papers' 22 among them.
        distance: `l2`, `cosine` or `inner_product`.
        exclude: `self` and `same_camera`.
        groups: (m,) a name for each query: curves of each group, too.
        execution: How the work is done.

    Raises:
        ValueError: Sides that hold other items, an order that is no permutation, a
            metric without a curve, cut-offs out of range.

    Example:
        >>> old = EmbeddingSet(list("ab"), list("xy"), None, np.array([[0.0], [1.0]]))
        >>> new = EmbeddingSet(list("ab"), list("xy"), None, np.array([[1.0], [0.0]]))
        >>> query = EmbeddingSet(["q"], ["x"], None, np.array([[1.0]]))
        >>> curve = backfilling_curve(
        ...     old, new, np.array([1, 0]), queries=query, metrics=["retrieval/CMC@1"]
        ... )
        >>> curve.values["retrieval/CMC@1"].tolist()
        [0.0, 0.5, 1.0]
    """
    execution = execution or Execution()
    queries = new if queries is None else queries
    names = [MetricName.parse(name) for name in metrics]
    order = _check(old, new, order, names, groups, len(queries))
    retrieval = [name for name in names if name.task == "retrieval"]
    acceptance = [name for name in names if name.task == "verification"]
    old, new = old.take(order), new.take(order)
    sides = _Sides(
        Scoring.of(distance, queries, old),
        Scoring.of(distance, queries, new),
        Relevance.of(queries, old, exclude),
    )
    if not (sides.relevance.kept_members > 0).any():
        raise ValueError(
            "`queries` should have at least one whose label the gallery holds. "
            "Received none."
        )
    group_names, group = np.unique(
        np.zeros(len(queries), np.str_) if groups is None else np.asarray(groups),
        return_inverse=True,
    )
    chosen = _check_cutoffs(cutoffs, len(old))
    curves: dict[str, Floats] = {}
    points: dict[str, Integers] = {}
    if retrieval:
        at = np.arange(len(old) + 1) if chosen is None else chosen
        by_group = _retrieval_curves(sides, retrieval, at, group, execution)
        curves |= by_group
        points |= {name.name: at for name in retrieval}
    if acceptance:
        at = acceptance_cutoffs(len(old)) if chosen is None else chosen
        curves |= _acceptance_curves(sides, acceptance, at, group, execution)
        points |= {name.name: at for name in acceptance}
    return BackfillingCurve(
        len(old),
        points,
        {name.name: curves[name.name][-1] for name in names},
        {}
        if groups is None
        else {
            str(group_name): {name.name: curves[name.name][i] for name in names}
            for i, group_name in enumerate(group_names)
        },
    )


def acceptance_cutoffs(items: int) -> Integers:
    """Up to 101 cut-offs: the papers' 22, and others between them.

    Example:
        >>> len(acceptance_cutoffs(1000)), len(acceptance_cutoffs(10))
        (101, 11)
    """
    cutoffs = np.unique(paper_cutoffs(items))
    while len(cutoffs) < min(items + 1, MOST_ACCEPTANCE_POINTS):
        # The middle of the widest gap, again and again.
        gap = int(np.argmax(np.diff(cutoffs)))
        middle = (cutoffs[gap] + cutoffs[gap + 1]) // 2
        cutoffs = np.insert(cutoffs, gap + 1, middle)
    return cutoffs


@dataclasses.dataclass(frozen=True, eq=False)
class _Sides:
    old: Scoring
    new: Scoring
    relevance: Relevance

    @property
    def tolerance(self) -> Floats:
        return np.maximum(self.old.tolerance, self.new.tolerance)

    def take_queries(self, rows: Integers) -> _Sides:
        return _Sides(
            self.old.take_queries(rows),
            self.new.take_queries(rows),
            self.relevance.take_queries(rows),
        )


class _Tiles:
    """The products of a block of queries with both galleries, a tile at a time."""

    def __init__(self, sides: _Sides, execution: Execution) -> None:
        from keras_bct.evaluation.product import product_on

        self._sides = sides
        self._multiply = [
            product_on(execution.device, side) for side in (sides.old, sides.new)
        ]
        self.block_rows = min(execution.block_rows or _BLOCK_ROWS, len(sides.old.left))
        self.width = tile_width(self.block_rows, len(sides.old.right))
        self._local = threading.local()

    def of(self, rows: slice, members: Members, stop: threading.Event) -> Any:
        """Yields the columns, and the old and the new scores."""
        from keras_bct.evaluation.kernels.tile import mask

        if not hasattr(self._local, "buffers"):
            self._local.buffers = np.empty(
                (2, self.block_rows * self.width), np.float32
            )
        left = self._sides.old.left_operand(rows)
        for columns in slices(len(self._sides.old.right), self.width):
            if stop.is_set():
                return
            shape = (len(left), columns.stop - columns.start)
            pair = []
            for buffer, multiply in zip(
                self._local.buffers, self._multiply, strict=True
            ):
                scores = buffer[: shape[0] * shape[1]].reshape(shape)
                multiply(left, columns, scores)
                mask(scores, members.offsets, members.columns, columns.start)
                pair.append(scores)
            yield columns, *pair


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
    def of(cls, sides: _Sides, rows: slice, members: Members) -> _Relevant:
        row, column = members.rows[members.kept], members.columns[members.kept]
        scores = np.concatenate(
            [
                sides.old.exact(row + rows.start, column),
                sides.new.exact(row + rows.start, column),
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


def _retrieval_curves(
    sides: _Sides,
    names: Sequence[MetricName],
    cutoffs: Integers,
    group: Integers,
    execution: Execution,
) -> dict[str, Floats]:
    """For each metric (groups + 1, points): the groups, and last all queries."""
    from keras_bct.evaluation.kernels.moves import open_moves, scan_moves, settle_moves
    from keras_bct.evaluation.kernels.retrieval_along import follow_moves

    relevance, tiles = sides.relevance, _Tiles(sides, execution)
    places = np.array(
        sorted({name.count or 1 for name in names if name.kind != "mAP"}), np.int64
    )
    groups = int(group.max()) + 1
    answerable = relevance.kept_members > 0
    sizes = np.bincount(group[answerable], minlength=groups)
    with np.errstate(divide="ignore"):
        weights = 1 / sizes
    few = len(cutoffs) <= _FEW_CUTOFFS
    points = len(cutoffs) if few else len(sides.old.right) + 1
    local = threading.local()
    sums: list[tuple[Floats, Floats]] = []

    def work(rows: slice, stop: threading.Event) -> None:
        if not hasattr(local, "sums"):
            local.sums = (
                np.zeros((groups, points)),
                np.zeros((groups, len(places), points)),
            )
            local.found = np.empty(tiles.width + 1, np.int32)
            local.moves = _Moves(tiles.block_rows, len(sides.old.right))
            local.places = np.empty((tiles.block_rows, _BUCKETS), np.int32)
            local.doubtful = np.empty((tiles.block_rows * tiles.width, 2), np.int32)
            sums.append(local.sums)
        members = relevance.members(rows)
        relevant = _Relevant.of(sides, rows, members)
        count = rows.stop - rows.start
        query = np.repeat(np.arange(count), np.diff(relevant.offsets)) + rows.start
        thresholds = sides.old.to_product(relevant.exact, query)
        tolerance = sides.tolerance[rows]
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
                    sides.old.exact(row + rows.start, column),
                    sides.new.exact(row + rows.start, column),
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
        len(sides.old.left), tiles.block_rows, work, execution, "backfilling curve"
    )
    precision = np.sum([part[0] for part in sums], axis=0)
    matches = np.sum([part[1] for part in sums], axis=0)
    if not few:
        # The changes, summed up to each cut-off.
        precision = np.cumsum(precision, axis=-1)[..., cutoffs]
        matches = np.cumsum(matches, axis=-1)[..., cutoffs]
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


def _acceptance_curves(
    sides: _Sides,
    names: Sequence[MetricName],
    cutoffs: Integers,
    group: Integers,
    execution: Execution,
) -> dict[str, Floats]:
    """For each metric (groups + 1, points): the groups, and last all queries."""
    groups = int(group.max()) + 1
    curves = {name.name: np.empty((groups + 1, len(cutoffs))) for name in names}
    for i in range(groups + 1):
        # A group has thresholds of its own, from the impostors of its queries.
        part = sides
        if i < groups:
            if groups == 1:
                continue
            part = sides.take_queries(np.flatnonzero(group == i))
        rates = sorted({name.rate or 0.0 for name in names})
        values = _AcceptanceCurve(part, cutoffs, execution).at(rates)
        for name in names:
            curves[name.name][i] = values[rates.index(name.rate or 0.0)]
            if groups == 1:
                curves[name.name][0] = curves[name.name][1]
    return curves


class _AcceptanceCurve:
    """TAR at each cut-off: keeps only scores that some cut-off's threshold can be."""

    def __init__(self, sides: _Sides, cutoffs: Integers, execution: Execution) -> None:
        self._sides, self._cutoffs, self._execution = sides, cutoffs, execution
        self._total = sides.relevance.impostors()
        if not self._total or not (sides.relevance.kept_members > 0).any():
            raise ValueError(
                "`queries` should make genuine and impostor pairs with the gallery, "
                "in every group. Received a group without."
            )

    def at(self, rates: Sequence[float]) -> Floats:
        """(rates, points) float64."""
        rank = max(allowed_above(rate, self._total) for rate in rates)
        rank = min(rank, self._total - 1)
        if rank > _MOST_KEPT:
            raise ValueError(
                f"`metrics`: a curve holds the scores above its thresholds, at most "
                f"{_MOST_KEPT}. Received: FAR={max(rates):g} of {self._total} pairs. "
                "Take a lower FAR or fewer queries."
            )
        reached = None
        while reached is None:
            reached = self._thresholds(rates, self._keep(self._guess(rank)))
            # Where the sample put the floor too high, twice as many are kept.
            rank = min(2 * rank + 1, self._total)
        return np.stack([self._share(thresholds) for thresholds in reached])

    def _thresholds(
        self,
        rates: Sequence[float],
        kept: tuple[Floats, Integers, npt.NDArray[np.bool_]],
    ) -> list[Floats] | None:
        """For each rate (points,) thresholds; None where too few scores were kept."""
        from keras_bct.evaluation.kernels.acceptance_along import thresholds_along

        order = np.argsort(-kept[0], kind="stable")
        scores, column, is_new = (values[order] for values in kept)
        # A new score counts once its item has moved, an old one until then.
        start = np.where(is_new, column + 1, 0)
        stop = np.where(is_new, len(self._sides.old.right) + 1, column + 1)
        by_start, by_stop = np.argsort(start), np.argsort(stop)
        result = []
        for rate in rates:
            thresholds = np.full(len(self._cutoffs), -np.inf)
            allowed = allowed_above(rate, self._total)
            if not thresholds_along(
                scores,
                start,
                stop,
                by_start,
                by_stop,
                self._cutoffs,
                allowed,
                thresholds,
            ):
                return None
            result.append(thresholds)
        return result

    def _share(self, thresholds: Floats) -> Floats:
        """(points,) the share of genuine pairs above each cut-off's threshold."""
        from keras_bct.evaluation.kernels.acceptance_along import count_along

        accepted = np.zeros(len(thresholds), np.int64)
        pairs = 0
        relevance = self._sides.relevance
        for rows in slices(len(self._sides.old.left), 4096):
            members = relevance.members(rows)
            row = members.rows[members.kept] + rows.start
            column = members.columns[members.kept]
            count_along(
                self._sides.old.exact(row, column),
                self._sides.new.exact(row, column),
                column,
                self._cutoffs,
                thresholds,
                accepted,
            )
            pairs += len(row)
        return accepted / pairs

    def _guess(self, rank: int) -> float:
        """A score that about 1.5 times as many impostors reach, old and new alike."""
        if rank + 1 >= self._total:
            return -np.inf
        wanted = max(16, min(_SAMPLED_ROWS, 2**24 // len(self._sides.old.right)))
        queries = len(self._sides.old.left)
        rows = np.random.default_rng(0).choice(
            queries, min(wanted, queries), replace=False
        )
        sample = self._sides.take_queries(np.sort(rows))
        total = sample.relevance.impostors()
        place = int(_SLACK * (rank + 1) * total / self._total) + 1
        if place >= total:
            return -np.inf
        return min(
            float(np.partition(scores, -place)[-place])
            for scores in _impostor_scores(sample, self._execution)
        )

    def _keep(self, floor: float) -> tuple[Floats, Integers, npt.NDArray[np.bool_]]:
        """The impostor scores, old and new, that reach a floor, and their items."""
        from keras_bct.evaluation.kernels.tile import pairs_above

        sides, tiles = self._sides, _Tiles(self._sides, self._execution)
        local = threading.local()
        kept: list[tuple[Floats, Integers, npt.NDArray[np.bool_]]] = []

        def work(rows: slice, stop: threading.Event) -> None:
            if not hasattr(local, "space"):
                size = tiles.block_rows * tiles.width
                local.space = np.empty((2, size), np.int64)
            members = sides.relevance.members(rows)
            every_row = np.arange(rows.stop - rows.start)
            lowest = np.full(len(every_row), max(floor, -1e30))
            lowest = sides.old.to_product(lowest, rows) - sides.tolerance[rows]
            for columns, *versions in tiles.of(rows, members, stop):
                for is_new, scores in enumerate(versions):
                    count = pairs_above(
                        scores, every_row, lowest.astype(np.float32), *local.space
                    )
                    row = local.space[0][:count] + rows.start
                    column = local.space[1][:count] + columns.start
                    side = sides.new if is_new else sides.old
                    exact = side.exact(row, column)
                    reached = exact >= floor
                    kept.append(
                        (
                            exact[reached],
                            column[reached],
                            np.full(int(reached.sum()), bool(is_new)),
                        )
                    )

        run_blocks(len(sides.old.left), tiles.block_rows, work, self._execution, "TAR")
        scores, column, is_new = (
            np.concatenate(parts) for parts in zip(*kept, strict=True)
        )
        return scores, column, is_new


def _impostor_scores(sides: _Sides, execution: Execution) -> tuple[Singles, Singles]:
    """All old and all new impostor scores of a few queries."""
    quiet = dataclasses.replace(execution, progress=False)
    tiles = _Tiles(sides, quiet)
    parts: list[list[Singles]] = [[], []]

    def work(rows: slice, stop: threading.Event) -> None:
        members = sides.relevance.members(rows)
        for _, *versions in tiles.of(rows, members, stop):
            for part, scores, side in zip(
                parts, versions, (sides.old, sides.new), strict=True
            ):
                exact = scores * side.slope + side.offset[rows, None]
                part.append(exact[np.isfinite(exact)])

    run_blocks(len(sides.old.left), tiles.block_rows, work, quiet, "sampling")
    return np.concatenate(parts[0]), np.concatenate(parts[1])


def _check(
    old: EmbeddingSet,
    new: EmbeddingSet,
    order: npt.NDArray[Any],
    names: Sequence[MetricName],
    groups: npt.NDArray[Any] | None,
    queries: int,
) -> Integers:
    """Refuses what has no curve; gives the order as integers."""
    if len(old) != len(new) or (old.ids != new.ids).any():
        raise ValueError(
            "`new` should hold the items of `old` in the same order. Received "
            f"{len(new)} and {len(old)} items."
        )
    for name in names:
        whole = name.kind == "mAP" and name.count is None
        if not (whole or name.kind in ("CMC", "recall", "TAR")):
            raise ValueError(
                "`metrics` should be retrieval/mAP, retrieval/CMC@k or "
                f"verification/TAR@FAR=x to have a curve. Received: {name.name!r}."
            )
    order = np.asarray(order)
    if (
        order.dtype.kind not in "iu"
        or order.shape != (len(old),)
        or (np.bincount(order.clip(0, len(old)), minlength=len(old)) != 1).any()
    ):
        raise ValueError(
            f"`order` should hold each of the rows 0 to {len(old) - 1} once. "
            f"Received: shape {order.shape}, dtype {order.dtype}."
        )
    if groups is not None and np.shape(groups) != (queries,):
        raise ValueError(
            f"`groups` should name a group for each of the {queries} queries. "
            f"Received: shape {np.shape(groups)}."
        )
    return order.astype(np.int64)


def _check_cutoffs(cutoffs: npt.NDArray[Any] | None, items: int) -> Integers | None:
    if cutoffs is None:
        return None
    cutoffs = np.asarray(cutoffs)
    if (
        cutoffs.dtype.kind not in "iu"
        or cutoffs.ndim != 1
        or not len(cutoffs)
        or cutoffs[0] < 0
        or cutoffs[-1] > items
        or (np.diff(cutoffs) <= 0).any()
    ):
        raise ValueError(
            f"`cutoffs` should be whole numbers from 0 to {items}, ascending. "
            f"Received: {cutoffs!r}."
        )
    return cutoffs.astype(np.int64)
