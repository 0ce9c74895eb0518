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

Floats = NDArray[np.float64]
Pair = tuple[NDArray[Any], NDArray[Any]]

SAMPLE_PAIRS = 4096
"""Pairs that are kept, drawn evenly, for what moments do not tell."""


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """Means and scatter of pairs, and an even sample of them, all float64.

    The scatter of X and Y is `sum (x - mean x)' (y - mean y)`: the covariance times the
    number of pairs.

    Attributes:
        pairs: n, how many pairs were seen.
        source_mean: `(s,)`.
        target_mean: `(t,)`.
        source_scatter: `(s, s)`.
        cross_scatter: `(s, t)`.
        target_scatter: `(t,)`, its diagonal.
        sample: `(m, s)` and `(m, t)`: all pairs where n is at most `SAMPLE_PAIRS`,
            else as many, each pair equally likely.
    """

    pairs: int
    source_mean: Floats
    target_mean: Floats
    source_scatter: Floats
    cross_scatter: Floats
    target_scatter: Floats
    sample: tuple[Floats, Floats]


def gather(
    blocks: Iterable[Pair],
    *,
    names: tuple[str, str] = ("source", "target"),
    seed: int = 0,
) -> PairStatistics:
    """See every pair once and keep its statistics, in bounded memory.

    Pairs are regrouped to blocks of one size, so that how they come does not matter.
    Memory is about `8 (s s + 2 s t + 3 (4096 + 4096) (s + t))` bytes, whatever n is.

    Args:
        blocks: Pairs of `(b, s)` and `(b, t)` rows of a floating type.
        names: What the caller calls both sides, for messages.
        seed: Of the sample.

    Raises:
        ValueError: No block, sides of different lengths, sizes that change, NaN or
            infinity, or a side whose rows are all the same.
        TypeError: No floating type.

    Example:
        >>> rows = np.array([[0.0], [2.0]])
        >>> statistics = gather([(rows, -rows), (rows, -rows)])
        >>> statistics.pairs, statistics.source_mean.tolist()
        (4, [1.0])
        >>> statistics.cross_scatter.tolist()
        [[-4.0]]

    References:
        Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for
        computing sample variances, 1979: the update of means and scatter.
    """
    generator = np.random.default_rng(seed)
    chosen: _Sample | None = None
    total: PairStatistics | None = None
    for source, target in _regrouped(blocks, names):
        chosen = chosen or _Sample(source.shape[1], target.shape[1])
        chosen.offer(generator.random(len(source)), source, target)
        part = _of_block(source, target)
        total = part if total is None else _sum(total, part)
    if total is None or chosen is None:
        raise ValueError("`blocks` should give at least one pair. Received none.")
    for name, mean, scatter in (
        (names[0], total.source_mean, np.diagonal(total.source_scatter)),
        (names[1], total.target_mean, total.target_scatter),
    ):
        # What rounding leaves of rows that are all the same is far below this.
        if scatter.sum() <= 1e-20 * total.pairs * (mean @ mean):
            raise ValueError(
                f"`{name}` should vary. Received: {total.pairs} rows that are all the "
                "same; did the model collapse, or is one row repeated?"
            )
    return PairStatistics(**{**vars(total), "sample": chosen.sides})


class _Sample:
    """The pairs with the lowest of random keys: an even sample of a stream."""

    def __init__(self, source_size: int, target_size: int) -> None:
        self._keys = np.empty(0)
        self.sides = (np.empty((0, source_size)), np.empty((0, target_size)))

    def offer(self, keys: Floats, source: Floats, target: Floats) -> None:
        full = len(self._keys) == SAMPLE_PAIRS
        low = keys < (self._keys.max() if full else np.inf)
        if not low.any():
            return
        keys = np.concatenate([self._keys, keys[low]])
        kept = np.sort(np.argsort(keys, kind="stable")[:SAMPLE_PAIRS])
        self._keys = keys[kept]
        self.sides = (
            np.concatenate([self.sides[0], source[low]])[kept],
            np.concatenate([self.sides[1], target[low]])[kept],
        )


def _regrouped(
    blocks: Iterable[Pair], names: tuple[str, str]
) -> Iterator[tuple[Floats, Floats]]:
    """Give pairs in float64 blocks of BLOCK_ROWS, the last one shorter.

    A block is good until the next one is asked for.
    """
    space: tuple[Floats, Floats] | None = None
    filled = seen = 0
    for first, second in blocks:
        sizes = (None, None) if space is None else [side.shape[1] for side in space]
        pair = [
            embedding_rows(name, rows, size)
            for name, rows, size in zip(names, (first, second), sizes, strict=True)
        ]
        check_lengths(names, pair[0], pair[1])
        if space is None:
            space = (
                np.empty((BLOCK_ROWS, pair[0].shape[1])),
                np.empty((BLOCK_ROWS, pair[1].shape[1])),
            )
        start = 0
        while start < len(pair[0]):
            count = min(BLOCK_ROWS - filled, len(pair[0]) - start)
            for name, side, rows in zip(names, space, pair, strict=True):
                side[filled : filled + count] = rows[start : start + count]
                refuse_not_finite(name, side[filled : filled + count], seen)
            start, filled, seen = start + count, filled + count, seen + count
            if filled == BLOCK_ROWS:
                yield space
                filled = 0
    if space is not None and filled:
        yield space[0][:filled], space[1][:filled]


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


def _of_block(source: Floats, target: Floats) -> PairStatistics:
    source_mean, target_mean = source.mean(axis=0), target.mean(axis=0)
    source, target = source - source_mean, target - target_mean
    return PairStatistics(
        pairs=len(source),
        source_mean=source_mean,
        target_mean=target_mean,
        source_scatter=source.T @ source,
        cross_scatter=source.T @ target,
        target_scatter=np.einsum("ij,ij->j", target, target),
        sample=(source[:0], target[:0]),
    )


def _sum(one: PairStatistics, other: PairStatistics) -> PairStatistics:
    pairs = one.pairs + other.pairs
    source_step = other.source_mean - one.source_mean
    target_step = other.target_mean - one.target_mean
    weight = one.pairs * other.pairs / pairs
    share = other.pairs / pairs
    return PairStatistics(
        pairs=pairs,
        source_mean=one.source_mean + share * source_step,
        target_mean=one.target_mean + share * target_step,
        source_scatter=one.source_scatter
        + other.source_scatter
        + weight * np.outer(source_step, source_step),
        cross_scatter=one.cross_scatter
        + other.cross_scatter
        + weight * np.outer(source_step, target_step),
        target_scatter=one.target_scatter
        + other.target_scatter
        + weight * target_step**2,
        sample=one.sample,
    )
