"""What a FastFill experiment is made of: rows, settings and claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from keras_bct.experiments.fastfill.aligned_parts import Migration
from keras_bct.experiments.fastfill.catalogue import FastFillCatalogue
from keras_bct.experiments.fastfill.curve_numbers import CurveNumbers
from keras_bct.experiments.fastfill.map_methods import MapMethod

ORDERS = ("random", "sigma", "class mean", "entropy", "loss", "linear")


@dataclasses.dataclass(frozen=True)
class BackfillRow:
    """A map and an order of the backfill.

    Attributes:
        title: The row's name in the table.
        migration: From which old model to which new one.
        method: The map of the old gallery.
        order: `random`; `sigma`: by the predicted variance; `class mean`: by the
            distance to the mean of the item's class (lambda-orthogonality); `entropy`:
            of the cosines to the new classifier's rows (RACT); `loss`: an oracle, by
            the loss of the item itself; `linear`: what a linear unit, as psi is
            one, says when it is fitted to the order of that loss on the very items.

    Raises:
        ValueError: The order is unknown.
    """

    title: str
    migration: Migration
    method: MapMethod
    order: str = "random"

    def __post_init__(self) -> None:
        """Checks the order."""
        if self.order not in ORDERS:
            raise ValueError(
                f"`order` should be one of {', '.join(ORDERS)}. "
                f"Received: {self.order!r}"
            )


Numbers = Mapping[str, Mapping[str, CurveNumbers]]
"""By setting and row title."""


@dataclasses.dataclass(frozen=True)
class FastFillClaim:
    """A sentence that the numbers of one seed hold or do not.

    Attributes:
        sentence: Markdown.
        judge: Takes the numbers by setting and row title; gives whether it holds, and
            the figures that say so.
    """

    sentence: str
    judge: Callable[[Numbers], tuple[bool, str]]


@dataclasses.dataclass(frozen=True)
class Setting:
    """A set of test pictures, which are queries and gallery alike.

    Attributes:
        name: For people.
        part: Of `pictures`.
    """

    name: str
    part: str


SEEN = Setting("seen classes, unseen typefaces", "seen")
UNSEEN = Setting("unseen classes, unseen typefaces", "unseen")
VALIDATION_SEEN = Setting(
    "validation: seen classes, other typefaces", "validation-seen"
)
VALIDATION_UNSEEN = Setting("validation: unseen classes", "validation-unseen")
DISJOINT_SEEN = Setting("the new model's classes, unseen typefaces", "disjoint-seen")


@dataclasses.dataclass(frozen=True)
class FastFillTable:
    """An experiment as a description of its rows.

    Attributes:
        name: `fastfill` and so on.
        title: Its heading.
        about: What it shows and how to read it, Markdown.
        rows: The rows of one seed.
        settings: Which test pictures.
        claims: What is expected of the numbers.
        by_group: Whether the two groups of characters are told apart.
    """

    name: str
    title: str
    about: str
    rows: Callable[[FastFillCatalogue], tuple[BackfillRow, ...]]
    settings: tuple[Setting, ...] = (SEEN, UNSEEN)
    claims: tuple[FastFillClaim, ...] = ()
    by_group: bool = False
