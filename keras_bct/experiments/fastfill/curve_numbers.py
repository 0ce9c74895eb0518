"""The numbers of one row, one setting and one seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

METRICS = ("retrieval/mAP", "retrieval/CMC@1", "retrieval/CMC@5")
MAIN = METRICS[0]

QUARTER = 5
"""Of the 22 cut-offs the one at 5/21 = 24 % of the backfill; the next is at 29 %."""

REPLICATES, BOOTSTRAP_SEED, CONFIDENCE = 2000, 0, 0.95

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class MetricCurve:
    """A metric along the backfill.

    Attributes:
        old_old: M(old, old).
        new_new: M(new, new), of the migration's own new model.
        points: At the 22 cut-offs of the papers.
        exact_area: Over all n steps.
        shares: The share of the gallery from which on 95 % and 99 % of M(new, new) are
            reached for good.
    """

    old_old: float
    new_new: float
    points: tuple[float, ...]
    exact_area: float
    shares: tuple[float, float]

    @property
    def start(self) -> float:
        """Before the backfill."""
        return self.points[0]

    @property
    def area(self) -> float:
        """The papers' area: the plain mean over the 22 cut-offs."""
        return float(np.mean(self.points))

    @property
    def normalised(self) -> float:
        """The area between what the old and the new model reach alone."""
        return (self.area - self.old_old) / (self.new_new - self.old_old)


@dataclasses.dataclass(frozen=True)
class CurveNumbers:
    """What a row says of one setting, for one seed.

    Attributes:
        metrics: For each metric its curve.
        class_points: For each class its queries' mean average precision at the 22
            cut-offs, classes by name.
        groups: For each group's name its mean average precision at the cut-offs.
        class_groups: For each class its group; empty without.
        tau: Kendall's tau of the row's priority against the oracle, None for random.
    """

    metrics: dict[str, MetricCurve]
    class_points: tuple[tuple[float, ...], ...]
    groups: dict[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    class_groups: tuple[str, ...] = ()
    tau: float | None = None

    @property
    def main(self) -> MetricCurve:
        """The mean average precision."""
        return self.metrics[MAIN]

    @property
    def class_areas(self) -> Floats:
        """(classes,) the area of each class."""
        return np.array([np.mean(points) for points in self.class_points])


def area_interval(numbers: CurveNumbers) -> tuple[float, float]:
    """The interval of an area, classes resampled."""
    return _interval(numbers.class_areas)


def difference_interval(
    one: CurveNumbers, other: CurveNumbers, points: slice = slice(None)
) -> tuple[float, float]:
    """The interval of area(one) - area(other), the same classes resampled in both.

    Args:
        one: A row.
        other: Another.
        points: Over which of the 22 cut-offs the area is taken.
    """
    difference = np.subtract(one.class_points, other.class_points)
    return _interval(difference[:, points].mean(axis=1))


def gap_interval(numbers: CurveNumbers, point: int) -> tuple[float, float]:
    """The interval of the gap between two groups, classes resampled within each.

    Args:
        numbers: Of a row with groups.
        point: Which of the 22 cut-offs.

    Returns:
        Of the first group by name less the second.
    """
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    values = np.asarray(numbers.class_points)[:, point]
    group = np.asarray(numbers.class_groups)
    means = []
    for name in sorted(set(numbers.class_groups)):
        members = values[group == name]
        rows = generator.integers(0, len(members), (REPLICATES, len(members)))
        means.append(members[rows].mean(axis=1))
    low, high = np.quantile(means[0] - means[1], _ENDS)
    return float(low), float(high)


def gaps(numbers: CurveNumbers) -> Floats:
    """(22,) how far apart the two groups are at each cut-off."""
    first, second = (numbers.groups[name] for name in sorted(numbers.groups))
    return np.asarray(np.abs(np.subtract(first, second)))


def widest_gap(numbers: CurveNumbers) -> float:
    """The new model's own gap, to the far end of its interval."""
    return max(map(abs, gap_interval(numbers, -1)))


def share_of_closing(numbers: CurveNumbers) -> float:
    """From which share of the backfill on the gap is no wider than the new model's."""
    found = gaps(numbers)
    wider = np.flatnonzero(found > widest_gap(numbers))
    return float((wider[-1] + 1) / (len(found) - 1)) if len(wider) else 0.0


_ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


def _interval(values: Floats) -> tuple[float, float]:
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    rows = generator.integers(0, len(values), (REPLICATES, len(values)))
    low, high = np.quantile(values[rows].mean(axis=1), _ENDS)
    return float(low), float(high)
