"""What closed-form fits need to know of the pairs, gathered in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import (
    BLOCK_ROWS,
    embedding_rows,
    refuse_not_finite,
)
from keras_bct.adapters.pair_sample import PairSample

Floats = NDArray[np.float64]
Pair = tuple[NDArray[Any], NDArray[Any]]

SAMPLE_PAIRS = 2048
"""Pairs that are kept, drawn evenly, for what moments do not tell."""

# So many pairs are multiplied in float64, the rest as they come. Where there are few,
# every digit counts and costs nothing; where there are many, rounding is averaged out.
_EXACT_PAIRS = 2**13
# A component whose mean is so many times its spread, both squared, would cost the
# products digits: rows are centred then, which takes a pass of its own.
_FAR = 10.0
_SUMMED_ROWS = 32
# Of `sum x_i^2` and `sum x_j^2`, the share of their geometric mean by which
# `sum x_i x_j` may be wrong.
_ROUNDING = {"exact": 1e-12, "averaged": 2e-7}
# Squares of less than these lose digits: of a side, and a pair's in float32.
_LEAST_DIFFERENCE = 2.0**-485
_LEAST_SINGLE_PRODUCT = 2.0**-100


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """Means and scatter of pairs, and an even sample of them, all float64.

    The scatter of X and Y is `sum (x - mean x)' (y - mean y)`: the covariance times the
    number of pairs.

    Attributes:
        pairs: n, how many pairs were seen.
        source_mean: `(s,)`.
        target_mean: `(t,)`.
        source_scatter: `(s, s)`, or `(0, 0)` where it was not asked for.
        cross_scatter: `(s, t)`.
        target_power: The trace of the target's scatter; NaN where it was not asked for.
        rounding: `(s,)`, what of each source component's scatter may be rounding; of
            that of two components it is the geometric mean. `(0,)` without scatter.
        sample: `(m, s)` and `(m, t)`: all pairs where n is at most the number that
            was asked for, else as many, each pair equally likely.
    """

    pairs: int
    source_mean: Floats
    target_mean: Floats
    source_scatter: Floats
    cross_scatter: Floats
    target_power: float
    rounding: Floats
    sample: tuple[Floats, Floats]


def gather(
    blocks: Iterable[Pair],
    *,
    names: tuple[str, str] = ("source", "target"),
    own_scatter: bool = True,
    target_power: bool = True,
    sample_pairs: int = SAMPLE_PAIRS,
    seed: int = 0,
) -> PairStatistics:
    """See every pair once and keep its statistics, in bounded memory.

    Pairs are regrouped to blocks of one size, so that how they come does not matter.
    Sums over blocks are float64; a block's own products are, too, for the first 8,192
    pairs and wherever rows are float64 or float32 cannot square them, else float32.
    Memory is about
    `8 (s s + s t) + 16 (4096 + sample_pairs) (s + t)` bytes, whatever n is.

    Args:
        blocks: Pairs of `(b, s)` and `(b, t)` rows of a floating type.
        names: What the caller calls both sides, for messages.
        own_scatter: Whether the scatter of the source itself is needed, which takes a
            product of its own.
        target_power: Whether the power of the target is needed, which takes a pass.
        sample_pairs: How many pairs to keep as a sample; 0: none.
        seed: Of the sample.

    Raises:
        ValueError: No block, sides of different lengths, sizes that change, NaN or
            infinity, a side whose rows are all the same, or numbers so large that
            float64 cannot hold the sums of their squares.
        TypeError: No floating type.

    Example:
        >>> rows = np.array([[0.0], [2.0]])
        >>> statistics = gather([(rows, -rows), (rows, -rows)])
        >>> statistics.pairs, statistics.source_mean.tolist()
        (4, [1.0])
        >>> statistics.cross_scatter.tolist()
        [[-4.0]]
    """
    chosen: PairSample | None = None
    total: _Sums | None = None
    for source, target in _regrouped(blocks, names):
        if total is None or chosen is None:
            sizes = source.shape[1], target.shape[1]
            chosen = PairSample(sample_pairs, *sizes, seed)
            total = _Sums(source, target, names, own_scatter, target_power)
        total.add(source, target)
        chosen.offer(source, target)
    if total is None or chosen is None:
        raise ValueError("`blocks` should give at least one pair. Received none.")
    return total.statistics(chosen.sides())


class _Sums:
    """Sums over pairs, relative to a point near their mean."""

    def __init__(
        self,
        source: NDArray[Any],
        target: NDArray[Any],
        names: tuple[str, str],
        own_scatter: bool,
        target_power: bool,
    ) -> None:
        self._names = names
        sides = (source, target)
        for name, rows in zip(names, sides, strict=True):
            refuse_not_finite(name, rows)
        self._origins = tuple(_origin(rows) for rows in sides)
        self._first = tuple(rows[0].copy() for rows in sides)
        self._varies = [False, False]
        sizes = source.shape[1], target.shape[1]
        self._sums = tuple(np.zeros(size) for size in sizes)
        self._cross = np.zeros(sizes)
        self._own = np.zeros((sizes[0],) * 2) if own_scatter else np.zeros((0, 0))
        self._power = 0.0
        self._has_power = target_power
        self._pairs = 0
        self._narrow = False
        self._averaged = False

    def add(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Add a block."""
        sides = (source, target)
        for i in (0, 1):
            if not self._varies[i]:
                self._varies[i] = _differ(sides[i], self._first[i])
        double = max(source.itemsize, target.itemsize) > 4
        exact = double or self._pairs < _EXACT_PAIRS or not self._suits_float32()
        if not self._add(sides, np.dtype(np.float64 if exact else np.float32)):
            for name, rows in zip(self._names, sides, strict=True):
                refuse_not_finite(name, rows, self._pairs)
            # Finite, but too large to be squared in float32.
            if not self._add(sides, np.dtype(np.float64)):
                raise ValueError(
                    f"`{self._names[0]}` and `{self._names[1]}` should be small enough "
                    "for float64 to hold the sums of their squares. Received: larger "
                    f"ones up to row {self._pairs + len(source) - 1}; divide them by "
                    "one number."
                )
        self._pairs += len(source)
        self._averaged |= not exact

    def _add(
        self, sides: tuple[NDArray[Any], NDArray[Any]], dtype: np.dtype[Any]
    ) -> bool:
        """Add a block's products in this type, or nothing where they are too large."""
        source, target = (
            rows.astype(dtype, copy=False)
            if origin is None
            else np.subtract(rows, origin, dtype=np.float64).astype(dtype, copy=False)
            for rows, origin in zip(sides, self._origins, strict=True)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            cross = self._cross + source.T @ target
            own = self._own + source.T @ source if self._own.size else self._own
            power = self._power
            if self._has_power:
                power += float(np.vdot(target, target))
            # A component that is not finite shows in the products, and so does one
            # whose square is too large.
            if not np.isfinite(cross.sum() + own.sum() + power):
                return False
        self._sums[0][:] += _sum(source)
        self._sums[1][:] += _sum(target)
        self._cross, self._own, self._power = cross, own, power
        return True

    def _suits_float32(self) -> bool:
        """Whether the products so far, in float64, would not have been lost in it."""
        if not self._narrow:
            least = self._pairs * _LEAST_SINGLE_PRODUCT
            self._narrow = bool(self._cross.any()) and not any(
                ((sums != 0) & (abs(sums) < least)).any()
                for sums in (self._cross, self._own)
            )
        return self._narrow

    def statistics(self, sample: tuple[Floats, Floats]) -> PairStatistics:
        """Centre the sums."""
        n = self._pairs
        for name, varies in zip(self._names, self._varies, strict=True):
            if not varies:
                raise ValueError(
                    f"`{name}` should vary. Received: {n} rows that are all the same, "
                    f"to within {_LEAST_DIFFERENCE:.0e}; did the model collapse, or is "
                    "one row repeated?"
                )
        source, target = (total / n for total in self._sums)
        means = [
            shift if origin is None else shift + origin
            for shift, origin in zip((source, target), self._origins, strict=True)
        ]
        own = self._own
        return PairStatistics(
            pairs=n,
            source_mean=means[0],
            target_mean=means[1],
            source_scatter=own - n * np.outer(source, source) if own.size else own,
            cross_scatter=self._cross - n * np.outer(source, target),
            target_power=self._power - n * float(target @ target)
            if self._has_power
            else float("nan"),
            rounding=own.diagonal()
            * _ROUNDING["averaged" if self._averaged else "exact"],
            sample=sample,
        )


def _differ(rows: NDArray[Any], first: NDArray[Any]) -> bool:
    """Whether rows are so far from the first that squares tell it."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.subtract(rows, first, dtype=np.float64)
        return bool(np.vdot(apart, apart) > _LEAST_DIFFERENCE**2)


def _sum(rows: NDArray[Any]) -> NDArray[Any]:
    """Sum over rows, as a product: half the time of the sum beside the large ones."""
    size = rows.shape[1]
    # Side by side, so that BLAS adds few long rows in place of many short ones.
    beside = _SUMMED_ROWS if len(rows) % _SUMMED_ROWS == 0 else 1
    wide = rows.reshape(-1, beside * size)
    total = np.ones(len(wide), rows.dtype) @ wide
    return np.asarray(total.reshape(beside, size).sum(axis=0, dtype=np.float64))


def _origin(rows: NDArray[Any]) -> Floats | None:
    """The mean of the first block, where a component's is far off; else None: zero."""
    values = rows.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=0)
        far = mean**2 > _FAR * values.var(axis=0)
    return np.asarray(mean) if far.any() else None


def _regrouped(
    blocks: Iterable[Pair], names: tuple[str, str]
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Give pairs in blocks of BLOCK_ROWS, the last one shorter.

    A block is a part of the caller's arrays where it can be; it is good until the next
    one is asked for.
    """
    space: list[NDArray[Any]] = []
    filled = 0
    for first, second in two_sides(blocks):
        sizes = [side.shape[1] for side in space] if space else (None, None)
        pair = [
            embedding_rows(name, rows, size)
            for name, rows, size in zip(names, (first, second), sizes, strict=True)
        ]
        check_lengths(names, pair[0], pair[1])
        if not space:
            space = [np.zeros((BLOCK_ROWS, side.shape[1]), side.dtype) for side in pair]
        for i, side in enumerate(pair):
            # Rows that come in a wider type later on keep their digits.
            wider = np.result_type(space[i], side)
            space[i] = space[i].astype(wider, copy=False)
        start = 0
        while start < len(pair[0]):
            count = min(BLOCK_ROWS - filled, len(pair[0]) - start)
            part = slice(start, start + count)
            start += count
            if count == BLOCK_ROWS:
                yield pair[0][part], pair[1][part]
                continue
            for side, rows in zip(space, pair, strict=True):
                side[filled : filled + count] = rows[part]
            filled += count
            if filled == BLOCK_ROWS:
                yield space[0], space[1]
                filled = 0
    if filled:
        yield space[0][:filled], space[1][:filled]


def two_sides(blocks: Iterable[Pair]) -> Iterator[Pair]:
    """Give the blocks, each seen to have two sides.

    Args:
        blocks: What the caller was given.

    Raises:
        ValueError: One has more or fewer.
    """
    for block in blocks:
        try:
            first, second = block
        except (TypeError, ValueError):
            raise ValueError(
                "`blocks` should give pairs of blocks, (b, s) and (b, t) rows. "
                f"Received: {type(block).__name__} of shape {np.shape(block)}; give "
                "whole arrays to `fit` or `fit_backward`."
            ) from None
        yield first, second


def check_lengths(
    names: tuple[str, str], source: NDArray[Any], target: NDArray[Any]
) -> None:
    """Refuse sides that are no pairs.

    Args:
        names: What the caller calls both sides.
        source: `(n, s)`.
        target: `(n, t)`.

    Raises:
        ValueError: The lengths differ.
    """
    if len(source) != len(target):
        raise ValueError(
            f"`{names[0]}` and `{names[1]}` should be pairs: row i of both shows item "
            f"i. Received: {len(source)} and {len(target)} rows."
        )
