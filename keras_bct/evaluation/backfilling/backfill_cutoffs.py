"""The cut-offs of a backfill: how many gallery items are new when a metric is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

PAPER_POINTS = 22
"""Equally spaced cut-offs over which the papers average, both ends included."""

MOST_ACCEPTANCE_POINTS = 101
"""Cut-offs at which TAR is measured, at most."""


def paper_cutoffs(items: int) -> Integers:
    """(22,) int64, the cut-offs of the papers: `floor(i * items / 21)`.

    Example:
        >>> paper_cutoffs(42).tolist()[:4]
        [0, 2, 4, 6]
    """
    return np.arange(PAPER_POINTS) * items // (PAPER_POINTS - 1)


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


def as_cutoffs(cutoffs: npt.NDArray[Any], items: int) -> Integers:
    """Brings chosen cut-offs to their type and checks them.

    Args:
        cutoffs: (points,) integers.
        items: How many gallery items there are.

    Raises:
        ValueError: They are not ascending, or out of range.
    """
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
