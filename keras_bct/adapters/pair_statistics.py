"""What closed-form fits need to know of the pairs, gathered in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import embedding_rows, refuse_not_finite

Floats = NDArray[np.float64]
Pair = tuple[NDArray[Any], NDArray[Any]]

SAMPLE_PAIRS = 4096
"""Pairs that are kept, drawn evenly, for what moments do not tell."""

# 128 float64 components of so many rows are 1 MiB: they stay in the cache of a core.
_BLOCK_ROWS = 1024


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
        sample: `(m, s)` and `(m, t)`: all pairs where n is at most the number that
            was asked for, else as many, each pair equally likely.
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
    sample_pairs: int = SAMPLE_PAIRS,
    seed: int = 0,
) -> PairStatistics:
    """See every pair once and keep its statistics, in bounded memory.

    Pairs are regrouped to blocks of one size, so that how they come does not matter.
    Memory is about `16 (s s + s t + (1024 + 2 sample_pairs) (s + t))` bytes, whatever
    n is.

    Args:
        blocks: Pairs of `(b, s)` and `(b, t)` rows of a floating type.
        names: What the caller calls both sides, for messages.
        sample_pairs: How many pairs to keep as a sample; 0: none.
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
    seen = 0
    for source, target in _regrouped(blocks, names):
        chosen = chosen or _Sample(sample_pairs, source.shape[1], target.shape[1])
        chosen.offer(generator.random(len(source)), source, target)
        part = _of_block(source, target, names, seen)
        seen += part.pairs
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
    return PairStatistics(**{**vars(total), "sample": chosen.sides()})


class _Sample:
    """The pairs with the lowest of random keys: an even sample of a stream."""

    def __init__(self, size: int, source_size: int, target_size: int) -> None:
        self._size = size
        self._limit = np.inf if size else 0.0
        # Room for as many again, so that only one block in many has to make room.
        room = 2 * size + _BLOCK_ROWS if size else 0
        self._keys = np.empty(room)
        self._sides = (np.empty((room, source_size)), np.empty((room, target_size)))
        self._filled = 0

    def offer(self, keys: Floats, source: Floats, target: Floats) -> None:
        low = np.flatnonzero(keys < self._limit)
        if not len(low):
            return
        if self._filled + len(low) > len(self._keys):
            self._make_room()
        place = slice(self._filled, self._filled + len(low))
        self._keys[place] = keys[low]
        self._sides[0][place] = source[low]
        self._sides[1][place] = target[low]
        self._filled = place.stop

    def sides(self) -> tuple[Floats, Floats]:
        if self._filled > self._size:
            self._make_room()
        return self._sides[0][: self._filled], self._sides[1][: self._filled]

    def _make_room(self) -> None:
        keys = self._keys[: self._filled]
        kept = np.sort(np.argsort(keys, kind="stable")[: self._size])
        for rows in (self._keys, *self._sides):
            rows[: len(kept)] = rows[kept]
        self._filled = len(kept)
        self._limit = float(self._keys[: self._filled].max())


def _regrouped(
    blocks: Iterable[Pair], names: tuple[str, str]
) -> Iterator[tuple[Floats, Floats]]:
    """Give pairs in float64 blocks of _BLOCK_ROWS, the last one shorter.

    A block is good until the next one is asked for, and may be written to.
    """
    space: tuple[Floats, Floats] | None = None
    filled = 0
    for first, second in blocks:
        sizes = (None, None) if space is None else [side.shape[1] for side in space]
        pair = [
            embedding_rows(name, rows, size)
            for name, rows, size in zip(names, (first, second), sizes, strict=True)
        ]
        check_lengths(names, pair[0], pair[1])
        if space is None:
            space = (
                np.empty((_BLOCK_ROWS, pair[0].shape[1])),
                np.empty((_BLOCK_ROWS, pair[1].shape[1])),
            )
        start = 0
        while start < len(pair[0]):
            count = min(_BLOCK_ROWS - filled, len(pair[0]) - start)
            for side, rows in zip(space, pair, strict=True):
                side[filled : filled + count] = rows[start : start + count]
            start, filled = start + count, filled + count
            if filled == _BLOCK_ROWS:
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


def _of_block(
    source: Floats, target: Floats, names: tuple[str, str], start: int
) -> PairStatistics:
    """The statistics of a block, which is centred in its place."""
    source_mean, target_mean = source.mean(axis=0), target.mean(axis=0)
    for name, rows, mean in zip(
        names, (source, target), (source_mean, target_mean), strict=True
    ):
        # A mean is not finite when one of its rows is not; only then look closer.
        if not np.isfinite(mean).all():
            refuse_not_finite(name, rows, start)
    source -= source_mean
    target -= target_mean
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
