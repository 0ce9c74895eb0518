"""A split of classes that stays as it is when classes are added or reordered."""

from __future__ import annotations

import fractions
import hashlib
from collections.abc import Iterable, Mapping

from keras_bct.text_column import MISSING, text_column


def rank_classes(names: Iterable[str], *, seed: int = 0) -> tuple[str, ...]:
    """Order classes at random, but each by its name and the seed alone.

    The first quarter is part of the first half, as a chain of versions needs it, and
    two classes keep their order whatever other classes there are.

    Args:
        names: the classes, in any order.
        seed: another one gives another order.

    Returns:
        Every class once.

    >>> rank_classes("abcd")
    ('c', 'b', 'd', 'a')
    >>> rank_classes("xdbca")
    ('c', 'b', 'd', 'x', 'a')
    """
    classes = _classes(names)
    return tuple(sorted(classes, key=lambda name: (_position(name, seed), name)))


def first_share(
    names: Iterable[str], share: float, *, seed: int = 0
) -> tuple[str, ...]:
    """Return a share of the classes: the first ones of `rank_classes`.

    Args:
        names: the classes, in any order.
        share: above 0, at most 1; the count is rounded to the nearest.
        seed: of the order.

    Raises:
        ValueError: a share out of its range, or so small that no class is left.

    >>> first_share("abcd", 0.5)
    ('c', 'b')
    """
    if not 0 < share <= 1:
        raise ValueError(f"`share` should be above 0 and at most 1. Received: {share}")
    ranked = rank_classes(names, seed=seed)
    count = int(share * len(ranked) + 0.5)
    if not count:
        raise ValueError(
            f"`share` should leave at least one of {len(ranked)} classes. "
            f"Received: {share}"
        )
    return ranked[:count]


def split_classes(
    names: Iterable[str], shares: Mapping[str, float], *, seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Part classes so that no class ever changes its part.

    A class's part follows from its name, the seed and the shares: new classes move
    none of the old ones. So the parts are of about the shares asked for, not
    exactly; `first_share` is exact.

    Args:
        names: the classes, in any order.
        shares: the parts' names with their shares, which add up to 1.
        seed: another one gives another split.

    Returns:
        The classes of every part, sorted.

    Raises:
        ValueError: shares that are not positive or do not add up to 1.

    >>> split_classes("abcdefgh", {"train": 0.75, "test": 0.25})
    {'train': ('b', 'c', 'd', 'e', 'f', 'g'), 'test': ('a', 'h')}
    """
    exact = {part: fractions.Fraction(str(share)) for part, share in shares.items()}
    if not exact or min(exact.values()) <= 0 or sum(exact.values()) != 1:
        raise ValueError(
            f"`shares` should be positive and add up to 1. Received: {dict(shares)}"
        )
    parts: dict[str, list[str]] = {part: [] for part in exact}
    for name in sorted(_classes(names)):
        position = fractions.Fraction(_position(name, seed), 2**64)
        for part, share in exact.items():
            position -= share
            if position < 0:
                parts[part].append(name)
                break
    return {part: tuple(members) for part, members in parts.items()}


def _classes(names: Iterable[str]) -> set[str]:
    """Return every class once; a label that is missing is none."""
    return set(text_column("names", list(names)).tolist()) - {MISSING}


def _position(name: str, seed: int) -> int:
    """Return where a class stands, from 0 to 2**64 - 1: the same on every machine."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
