"""What a table of the paper is made of: rows, a protocol and what the paper says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from keras_bct.experiments.bct.catalogue import Catalogue
from keras_bct.experiments.bct.measured import Measured
from keras_bct.experiments.harness.training import Training

LAYOUTS = ("chain", "criterion", "self")
PROTOCOLS = ("reidentification", "search", "validation")


@dataclasses.dataclass(frozen=True)
class Row:
    """A new version tested against an old one.

    Attributes:
        title: The row's name in the table.
        new: The version that embeds the queries.
        old: The version that made the gallery.
        paragon: The version whose self-test is the top of the gain; None: no gain.
    """

    title: str
    new: Training
    old: Training
    paragon: Training | None = None

    def trainings(self) -> Iterator[Training]:
        """The versions that the row needs, predecessors not named."""
        yield self.old
        if self.paragon is not None and self.paragon != self.new:
            yield self.paragon
        yield self.new


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence that the numbers of one seed hold or do not.

    Attributes:
        sentence: Markdown.
        titles: The rows that it is about; without them it is not judged.
        holds: Takes the numbers by row title and metric.
    """

    sentence: str
    titles: tuple[str, ...]
    holds: Callable[[Mapping[str, Mapping[str, Measured]]], bool]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of the paper as a description of its trainings and cells.

    Attributes:
        name: `table1` and so on.
        title: Its heading.
        about: What it shows and how to read it, Markdown.
        rows: The rows of one seed.
        protocol: `search` (verification and open-set search, disjoint typefaces),
            `validation` (the same on the validation characters) or
            `reidentification`.
        layout: `criterion` (Eq. 2 and the gain), `self` (self-tests beside the
            paragon's) or `chain` (every version against every earlier one).
        claims: What is expected of the numbers.
        paper: For a row's title and a metric what the paper says.

    Raises:
        ValueError: The layout or the protocol is unknown.
    """

    name: str
    title: str
    about: str
    rows: Callable[[Catalogue], tuple[Row, ...]]
    protocol: str = "search"
    layout: str = "criterion"
    claims: tuple[Claim, ...] = ()
    paper: Mapping[tuple[str, str], str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the layout and the protocol."""
        for name, choices in (("layout", LAYOUTS), ("protocol", PROTOCOLS)):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"`{name}` should be one of {', '.join(choices)}. "
                    f"Received: {getattr(self, name)!r}"
                )
