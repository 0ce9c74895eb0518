"""What is expected of FastFill's numbers, judged seed by seed."""

from __future__ import annotations

from collections.abc import Sequence

from keras_bct.experiments.fastfill.curve_numbers import (
    QUARTER,
    difference_interval,
    gaps,
    share_of_closing,
    widest_gap,
)
from keras_bct.experiments.fastfill.rows import FastFillClaim, Numbers, Setting

Judged = tuple[bool, str]


def normalised_area(setting: Setting, title: str, least: float) -> FastFillClaim:
    """The normalised area of a row is at least so much."""

    def judge(numbers: Numbers) -> Judged:
        found = numbers[setting.name][title].main.normalised
        return found >= least, f"{found:.3f}"

    return FastFillClaim(
        f"{setting.name}: normalised area of {title} at least {least}", judge
    )


def above(setting: Setting, title: str, other: str) -> FastFillClaim:
    """The area of one row is above another's, the interval clear of zero."""

    def judge(numbers: Numbers) -> Judged:
        rows = numbers[setting.name]
        low, high = difference_interval(rows[title], rows[other])
        difference = rows[title].main.area - rows[other].main.area
        return low > 0, f"{difference:+.4f} [{low:+.4f}, {high:+.4f}]"

    return FastFillClaim(f"{setting.name}: area of {title} above {other}", judge)


def not_below(
    setting: Setting, title: str, others: Sequence[str], *, start: bool = False
) -> FastFillClaim:
    """A row is nowhere below the best of others, as far as its interval tells.

    Args:
        setting: The test pictures.
        title: The row.
        others: Its rivals.
        start: Whether at 0 % of the backfill; else by area.
    """

    def judge(numbers: Numbers) -> Judged:
        rows = numbers[setting.name]

        def value(name: str) -> float:
            main = rows[name].main
            return main.start if start else main.area

        best = max(others, key=value)
        low, high = difference_interval(
            rows[title], rows[best], points=slice(1) if start else slice(None)
        )
        difference = value(title) - value(best)
        return high >= 0, f"{difference:+.4f} [{low:+.4f}, {high:+.4f}] to {best}"

    where = "mAP at 0 %" if start else "area"
    rivals = others[0] if len(others) == 1 else f"the best of {', '.join(others)}"
    return FastFillClaim(
        f"{setting.name}: {where} of {title} not below {rivals}", judge
    )


def tau(setting: Setting, title: str, least: float) -> FastFillClaim:
    """The predicted order agrees with the oracle's."""

    def judge(numbers: Numbers) -> Judged:
        found = numbers[setting.name][title].tau or 0.0
        return found >= least, f"{found:.2f}"

    return FastFillClaim(
        f"{setting.name}: Kendall's tau of {title} with the oracle at least {least}",
        judge,
    )


def gap_closed(setting: Setting, title: str) -> FastFillClaim:
    """After a quarter of the backfill the gap is no larger than the new model's."""

    def judge(numbers: Numbers) -> Judged:
        row = numbers[setting.name][title]
        gap, most = gaps(row), widest_gap(row)
        return bool(gap[QUARTER] <= most), (
            f"{gap[QUARTER]:.4f} at 24 %, the new model's {gap[-1]:.4f}, at most "
            f"{most:.4f}"
        )

    return FastFillClaim(
        f"{setting.name}: {title} has at 24 % no larger a gap between the groups than "
        "the new model's and its interval",
        judge,
    )


def gap_closed_before(setting: Setting, title: str, other: str) -> FastFillClaim:
    """The gap closes earlier in one order than in another, or never opened in it."""

    def judge(numbers: Numbers) -> Judged:
        rows = numbers[setting.name]
        one, two = (share_of_closing(rows[name]) for name in (title, other))
        return one < two or one == 0, f"from {one:.0%} on, and from {two:.0%} on"

    return FastFillClaim(
        f"{setting.name}: the gap of {title}, if it was open, closes before that of "
        f"{other}",
        judge,
    )
