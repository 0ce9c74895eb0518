"""TAR along a backfill, with the threshold of each cut-off."""

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
from keras_bct.evaluation.engine.block_pass import Execution, run_blocks, slices
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.verification.acceptance import allowed_above

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

# Rows drawn to guess the lowest threshold of TAR, and how much lower to keep scores.
_SAMPLED_ROWS = 256
_SLACK = 1.5
_MOST_KEPT = 2**25


def acceptance_curves(
    versions: GalleryVersions,
    names: Sequence[MetricName],
    cutoffs: Integers,
    group: Integers,
    execution: Execution,
) -> dict[str, Floats]:
    """Values TAR at each cut-off.

    Args:
        versions: As in `retrieval_curves`.
        names: As in `retrieval_curves`.
        cutoffs: As in `retrieval_curves`.
        group: As in `retrieval_curves`.
        execution: As in `retrieval_curves`.

    Returns:
        As in `retrieval_curves`.

    Raises:
        ValueError: A group without genuine or impostor pairs, or a FAR with too many.
    """
    groups = int(group.max()) + 1
    curves = {name.name: np.empty((groups + 1, len(cutoffs))) for name in names}
    for i in range(groups + 1):
        # A group has thresholds of its own, from the impostors of its queries.
        part = versions
        if i < groups:
            if groups == 1:
                continue
            part = versions.take_queries(np.flatnonzero(group == i))
        rates = sorted({name.rate or 0.0 for name in names})
        values = _AcceptanceCurve(part, cutoffs, execution).at(rates)
        for name in names:
            curves[name.name][i] = values[rates.index(name.rate or 0.0)]
            if groups == 1:
                curves[name.name][0] = curves[name.name][1]
    return curves


class _AcceptanceCurve:
    """TAR at each cut-off: keeps only scores that some cut-off's threshold can be."""

    def __init__(
        self, versions: GalleryVersions, cutoffs: Integers, execution: Execution
    ) -> None:
        self._versions, self._cutoffs, self._execution = versions, cutoffs, execution
        self._total = versions.relevance.impostors()
        if not self._total or not (versions.relevance.kept_members > 0).any():
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
        from keras_bct.evaluation.engine.kernels.acceptance_along import (
            thresholds_along,
        )

        order = np.argsort(-kept[0], kind="stable")
        scores, column, is_new = (values[order] for values in kept)
        # A new score counts once its item has moved, an old one until then.
        start = np.where(is_new, column + 1, 0)
        stop = np.where(is_new, len(self._versions.old.right) + 1, column + 1)
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
        from keras_bct.evaluation.engine.kernels.acceptance_along import count_along

        accepted = np.zeros(len(thresholds), np.int64)
        pairs = 0
        relevance = self._versions.relevance
        for rows in slices(len(self._versions.old.left), 4096):
            members = relevance.members(rows)
            row = members.rows[members.kept] + rows.start
            column = members.columns[members.kept]
            count_along(
                self._versions.old.exact(row, column),
                self._versions.new.exact(row, column),
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
        wanted = max(16, min(_SAMPLED_ROWS, 2**24 // len(self._versions.old.right)))
        queries = len(self._versions.old.left)
        rows = np.random.default_rng(0).choice(
            queries, min(wanted, queries), replace=False
        )
        sample = self._versions.take_queries(np.sort(rows))
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
        from keras_bct.evaluation.engine.kernels.tile import pairs_above

        versions = self._versions
        tiles = VersionTiles(versions.old, versions.new, self._execution)
        local = threading.local()
        kept: list[tuple[Floats, Integers, npt.NDArray[np.bool_]]] = []

        def work(rows: slice, stop: threading.Event) -> None:
            if not hasattr(local, "space"):
                size = tiles.block_rows * tiles.width
                local.space = np.empty((2, size), np.int64)
            members = versions.relevance.members(rows)
            every_row = np.arange(rows.stop - rows.start)
            lowest = np.full(len(every_row), max(floor, -1e30))
            lowest = versions.old.to_product(lowest, rows) - versions.tolerance[rows]
            for columns, *products in tiles.of(rows, members, stop):
                for is_new, scores in enumerate(products):
                    count = pairs_above(
                        scores, every_row, lowest.astype(np.float32), *local.space
                    )
                    row = local.space[0][:count] + rows.start
                    column = local.space[1][:count] + columns.start
                    side = versions.new if is_new else versions.old
                    exact = side.exact(row, column)
                    reached = exact >= floor
                    kept.append(
                        (
                            exact[reached],
                            column[reached],
                            np.full(int(reached.sum()), bool(is_new)),
                        )
                    )

        run_blocks(
            len(versions.old.left), tiles.block_rows, work, self._execution, "TAR"
        )
        scores, column, is_new = (
            np.concatenate(parts) for parts in zip(*kept, strict=True)
        )
        return scores, column, is_new


def _impostor_scores(
    versions: GalleryVersions, execution: Execution
) -> tuple[Singles, Singles]:
    """All old and all new impostor scores of a few queries."""
    quiet = dataclasses.replace(execution, progress=False)
    tiles = VersionTiles(versions.old, versions.new, quiet)
    parts: list[list[Singles]] = [[], []]

    def work(rows: slice, stop: threading.Event) -> None:
        members = versions.relevance.members(rows)
        for _, *products in tiles.of(rows, members, stop):
            for part, scores, side in zip(
                parts, products, (versions.old, versions.new), strict=True
            ):
                exact = scores * side.slope + side.offset[rows, None]
                part.append(exact[np.isfinite(exact)])

    run_blocks(len(versions.old.left), tiles.block_rows, work, quiet, "sampling")
    return np.concatenate(parts[0]), np.concatenate(parts[1])
