"""The numbers of one row, one metric and one seed."""

from __future__ import annotations

import dataclasses

from keras_bct.evaluation import Measurement, Protocol, compare_measurements

CONFIDENCE = 0.95
"""Of every interval of the tables, two-sided."""

Interval = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Measured:
    """What a row says of one metric, for one seed.

    Attributes:
        old_old: M(old, old).
        new_old: M(new, old).
        difference_interval: Of M(new, old) - M(old, old), identities resampled.
        new_mixed: M(new, mixed): half of the gallery's identities embedded by the new
            version, the others by the old one.
        new_new: M(new, new).
        agreement: The mean cosine of the old and the new embedding of one query, the
            same for every metric.
        paragon: M(new*, new*), or None.
        self_interval: Of M(new, new) - M(new*, new*), or None.
        gain: The update gain (Eq. 9), or None where it is undefined.
        gain_interval: Of the gain, or None.
        gain_undefined: Why there is no gain; empty where there is one.
    """

    old_old: float
    new_old: float
    difference_interval: Interval
    new_mixed: float
    new_new: float
    agreement: float
    paragon: float | None = None
    self_interval: Interval | None = None
    gain: float | None = None
    gain_interval: Interval | None = None
    gain_undefined: str = ""

    @property
    def answer(self) -> str:
        """Whether Eq. 2 holds: `yes`, `no`, or `undecided` within the interval."""
        low, high = self.difference_interval
        if low > 0:
            return "yes"
        return "no" if high < 0 else "undecided"


def join(
    protocol: Protocol,
    *,
    old_old: Measurement,
    new_old: Measurement,
    new_mixed: Measurement,
    new_new: Measurement,
    agreement: float,
    paragon: Measurement | None,
) -> dict[str, Measured]:
    """Joins measurements over the same items into the numbers of each metric."""
    against_old = compare_measurements(
        protocol, old_old=old_old, new_old=new_old, new_new=new_new, paragon=paragon
    )
    against_paragon = None
    if paragon is not None:
        against_paragon = compare_measurements(
            protocol, old_old=paragon, new_old=new_new
        )
    joined = {}
    for metric in protocol.metrics:
        numbers = against_old[metric]
        joined[metric] = Measured(
            old_old=numbers.old_old,
            new_old=numbers.new_old,
            difference_interval=numbers.difference_interval(CONFIDENCE),
            new_mixed=new_mixed.values[metric],
            new_new=new_new.values[metric],
            agreement=agreement,
            paragon=numbers.paragon,
            self_interval=None
            if against_paragon is None
            else against_paragon[metric].difference_interval(CONFIDENCE),
            gain=numbers.gain,
            gain_interval=numbers.gain_interval(CONFIDENCE),
            gain_undefined=numbers.gain_undefined,
        )
    return joined
