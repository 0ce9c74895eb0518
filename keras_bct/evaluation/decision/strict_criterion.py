"""The strict criterion (BCT, Eq. 1): the share of pairs for which it holds.

For two items i != j of different classes it asks d(new_i, old_j) >= d(old_i, old_j),
and of one class d(new_i, old_j) <= d(old_i, old_j).
"""

from __future__ import annotations

import dataclasses
import math
import threading

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import (
    BLOCK_ROWS,
    Execution,
    run_blocks,
    slices,
    tile_width,
)
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.protocol import check_confidence
from keras_bct.evaluation.inputs.relevance import Relevance
from keras_bct.evaluation.inputs.taking_part import only, takes_part

Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class PairShare:
    """A share of pairs.

    Attributes:
        holds: How many of the pairs looked at fulfil the criterion.
        pairs: How many pairs were looked at.
        of: How many there are.
        confidence: Of the interval.
    """

    holds: int
    pairs: int
    of: int
    confidence: float

    @property
    def value(self) -> float:
        """The share; NaN where there is no pair."""
        return self.holds / self.pairs if self.pairs else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share among all pairs; a point where all were seen.

        Example:
            >>> low, high = PairShare(50, 100, 10_000, 0.95).interval
            >>> round(low, 3), round(high, 3)
            (0.404, 0.596)
        """
        if self.pairs in (0, self.of):
            return self.value, self.value
        from statistics import NormalDist

        z = NormalDist().inv_cdf((1 + self.confidence) / 2)
        spread = z * z / self.pairs
        centre = (self.value + spread / 2) / (1 + spread)
        reach = math.sqrt(self.value * (1 - self.value) * spread + spread**2 / 4)
        return centre - reach / (1 + spread), centre + reach / (1 + spread)


@dataclasses.dataclass(frozen=True)
class StrictCriterion:
    """How far the strict criterion holds.

    Attributes:
        different: Over pairs of different classes.
        same: Over pairs of one class.
        items_without_label: How many items were left out: nobody knows of which kind
            their pairs are.
    """

    different: PairShare
    same: PairShare
    items_without_label: int = 0


def strict_criterion(
    old: EmbeddingSet,
    new: EmbeddingSet,
    *,
    distance: str = "l2",
    first_components: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    execution: Execution | None = None,
) -> StrictCriterion:
    """Measures the two shares of the strict criterion.

    Args:
        old: n items, embedded by the old model; those without a label are left out.
        new: The same items, embedded by the new model.
        distance: `l2`, `cosine` or `inner_product`.
        first_components: Compare only the first K components.
        sample: Look at so many pairs of each kind, drawn with replacement; None: at
            all n (n - 1) pairs, exactly.
        seed: Of the sample.
        confidence: Of the interval of a sample's share.
        execution: How the work is done.

    Raises:
        ValueError: The sets hold other items, or fewer than two.

    Example:
        >>> labels = list("xxy")
        >>> old = EmbeddingSet(list("abc"), labels, None, np.array([[0.], [2.], [4.]]))
        >>> new = EmbeddingSet(list("abc"), labels, None, np.array([[0.], [1.], [5.]]))
        >>> result = strict_criterion(old, new)
        >>> result.different.value, result.same.value
        (1.0, 1.0)
    """
    check_confidence(confidence)
    if len(old) != len(new) or (old.ids != new.ids).any() or len(old) < 2:
        raise ValueError(
            "`new` should hold the items of `old` in the same order, two or more. "
            f"Received: {len(new)} and {len(old)} items."
        )
    labelled = takes_part("old", old, ())
    old, new = only(old, labelled), only(new, labelled)
    sides = (
        Scoring.of(distance, old, old, first_components),
        Scoring.of(distance, new, old, first_components),
    )
    relevance = Relevance.of(old, old, ("self",))
    of_same = int(relevance.kept_members.sum())
    of_different = relevance.impostors()
    if sample is None:
        holds_different, holds_same = _count(sides, relevance, execution or Execution())
        pairs_different, pairs_same = of_different, of_same
    else:
        generator = np.random.default_rng(seed)
        different = _draw_different(relevance, sample, generator)
        same = _draw_same(relevance, sample, generator)
        holds_different = int(np.count_nonzero(_rises(sides, *different) <= 0))
        holds_same = int(np.count_nonzero(_rises(sides, *same) >= 0))
        pairs_different, pairs_same = len(different[0]), len(same[0])
    return StrictCriterion(
        PairShare(holds_different, pairs_different, of_different, confidence),
        PairShare(holds_same, pairs_same, of_same, confidence),
        int((~labelled).sum()),
    )


def _rises(
    sides: tuple[Scoring, Scoring], rows: Integers, columns: Integers
) -> npt.NDArray[np.float64]:
    """How much higher the score of each pair is with the new model."""
    old, new = sides
    return np.asarray(new.exact(rows, columns) - old.exact(rows, columns))


def _count(
    sides: tuple[Scoring, Scoring], relevance: Relevance, execution: Execution
) -> tuple[int, int]:
    """How many pairs of each kind hold, of all pairs."""
    from keras_bct.evaluation.engine.product import product_on

    multiply = [product_on(execution.device, side) for side in sides]
    block_rows = min(execution.block_rows or BLOCK_ROWS, len(sides[0].left))
    items = len(sides[0].right)
    width = tile_width(block_rows, items)
    tolerance = sides[0].slope * (sides[0].tolerance + sides[1].tolerance)
    offset = sides[1].offset - sides[0].offset
    totals: list[tuple[int, int]] = []

    def work(rows: slice, stop: threading.Event) -> None:
        members = relevance.members(rows)
        row, column = members.rows[members.kept], members.columns[members.kept]
        rises = _rises(sides, row + rows.start, column)
        same = int(np.count_nonzero(rises >= 0))
        different = 0
        left = [side.left_operand(rows) for side in sides]
        for columns in slices(items, width):
            if stop.is_set():
                return
            scores = np.empty(
                (2, len(left[0]), columns.stop - columns.start), np.float32
            )
            for i in range(2):
                multiply[i](left[i], columns, scores[i])
            rise = sides[0].slope * (scores[1].astype(np.float64) - scores[0])
            rise += offset[rows, None]
            # A pair of one class is counted above, and holds nowhere here.
            here = (members.columns >= columns.start) & (members.columns < columns.stop)
            rise[members.rows[here], members.columns[here] - columns.start] = np.inf
            near = np.abs(rise) <= tolerance[rows, None]
            different += int(np.count_nonzero((rise < 0) & ~near))
            row, column = np.nonzero(near)
            exact = _rises(sides, row + rows.start, column + columns.start)
            different += int(np.count_nonzero(exact <= 0))
        totals.append((different, same))

    run_blocks(len(sides[0].left), block_rows, work, execution, "strict criterion")
    return sum(d for d, _ in totals), sum(s for _, s in totals)


def _draw_different(
    relevance: Relevance, sample: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Pairs of different classes, each equally probable."""
    codes = relevance.query_codes
    rows, columns = np.zeros(0, np.int64), np.zeros(0, np.int64)
    while len(rows) < sample and relevance.impostors():
        drawn = generator.integers(0, len(codes), (2, 2 * sample))
        drawn = drawn[:, codes[drawn[0]] != codes[drawn[1]]]
        rows, columns = np.append(rows, drawn[0]), np.append(columns, drawn[1])
    return rows[:sample], columns[:sample]


def _draw_same(
    relevance: Relevance, sample: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Pairs of one class, each equally probable."""
    mates = np.cumsum(relevance.kept_members)
    if not mates[-1]:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    pair = np.sort(generator.integers(0, mates[-1], sample))
    rows = np.searchsorted(mates, pair, side="right")
    which = pair - (mates[rows] - relevance.kept_members[rows])
    columns = np.empty(sample, np.int64)
    for start in range(0, sample, 4096):
        # Each drawn query's mates, itself left out.
        part = slice(start, start + 4096)
        members = relevance.take_queries(rows[part]).members(slice(None))
        mates_of = members.columns[members.kept]
        first = np.cumsum(relevance.kept_members[rows[part]])
        columns[part] = mates_of[
            first - relevance.kept_members[rows[part]] + which[part]
        ]
    return rows, columns
