"""A line chart as SVG text, coloured by the page that holds it."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COLOURS = 6
"""How many colours the page gives, as the classes `c0` to `c5`."""

_WIDTH, _HEIGHT = 380.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 48.0, 12.0, 12.0, 42.0
_MOST_POINTS = 400


@dataclasses.dataclass(frozen=True, eq=False)
class Series:
    """A line of a chart.

    Attributes:
        name: For the legend.
        x: (points,) float64, ascending.
        y: (points,) float64.
        steps: Whether the line keeps its height up to the next point.
    """

    name: str
    x: Floats
    y: Floats
    steps: bool = False


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of a chart.

    Attributes:
        label: What it shows.
        low: Where it starts; above zero where it is logarithmic.
        high: Where it ends.
        logarithmic: Whether each decade takes the same space.
    """

    label: str
    low: float
    high: float
    logarithmic: bool = False

    def place(self, values: Floats) -> Floats:
        """Where values lie along the axis, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            values = np.log10(np.maximum(values, low))
            low, high = math.log10(low), math.log10(high)
        return np.clip((values - low) / (high - low), 0, 1)

    def ticks(self) -> list[float]:
        """Values to write beside the axis."""
        if self.logarithmic:
            first = math.ceil(math.log10(self.low) - 1e-9)
            last = math.floor(math.log10(self.high) + 1e-9)
            step = max(1, -(-(last - first) // 6))
            return [10.0**power for power in range(first, last + 1, step)]
        span = self.high - self.low
        decade = math.pow(10, math.floor(math.log10(span)))
        steps = (decade * part for part in (0.1, 0.2, 0.5, 1))
        apart = next(step for step in steps if span / step < 7)
        first = math.ceil(self.low / apart - 1e-9)
        last = math.floor(self.high / apart + 1e-9)
        return [i * apart for i in range(first, last + 1)]


def line_chart(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """Draws a chart.

    Args:
        title: For whoever cannot see it.
        x: The horizontal axis.
        y: The vertical axis.
        series: The lines; the first one takes the colour `c0`.

    Returns:
        An `svg` element. Lines are coloured by the classes `c0`, `c1`, ...; texts and
        axes by the classes `label` and `grid`.
    """
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        f'aria-label="{html.escape(title)}">'
    ]
    for tick in x.ticks():
        at = _LEFT + (right - _LEFT) * x.place(np.array([tick]))[0]
        parts.append(f'<path class="grid" d="M{at:.1f} {_TOP:g}V{bottom:g}"/>')
        parts.append(
            f'<text class="label" x="{at:.1f}" y="{bottom + 15:g}" '
            f'text-anchor="middle">{_number(tick)}</text>'
        )
    for tick in y.ticks():
        at = bottom - (bottom - _TOP) * y.place(np.array([tick]))[0]
        parts.append(f'<path class="grid" d="M{_LEFT:g} {at:.1f}H{right:g}"/>')
        parts.append(
            f'<text class="label" x="{_LEFT - 6:g}" y="{at + 4:.1f}" '
            f'text-anchor="end">{_number(tick)}</text>'
        )
    parts.append(
        f'<text class="label" x="{(_LEFT + right) / 2:g}" y="{_HEIGHT - 8:g}" '
        f'text-anchor="middle">{html.escape(x.label)}</text>'
    )
    parts.append(
        f'<text class="label" transform="translate(12 {(_TOP + bottom) / 2:g}) '
        f'rotate(-90)" text-anchor="middle">{html.escape(y.label)}</text>'
    )
    for number, line in enumerate(series):
        px, py = _thin(x.place(line.x), y.place(line.y))
        points = [
            f"{_LEFT + (right - _LEFT) * a:.1f},{bottom - (bottom - _TOP) * b:.1f}"
            for a, b in (_steps(px, py) if line.steps else zip(px, py, strict=True))
        ]
        parts.append(
            f'<polyline class="line c{number % COLOURS}" points="{" ".join(points)}">'
            f"<title>{html.escape(line.name)}</title></polyline>"
        )
    parts.append("</svg>")
    return "".join(parts)


def _steps(x: Floats, y: Floats) -> list[tuple[float, float]]:
    points = [(x[0], y[0])]
    for i in range(1, len(x)):
        points += [(x[i], y[i - 1]), (x[i], y[i])]
    return points


def _thin(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Leaves one point for each pixel or so: the last one, and the very first."""
    pixel = np.floor(x * _MOST_POINTS)
    kept = np.append(np.diff(pixel) != 0, True)
    kept[0] = True
    return x[kept], y[kept]


def _number(value: float) -> str:
    if value and (abs(value) < 1e-3 or abs(value) >= 1e5):
        return f"1e{math.log10(value):.0f}"
    return f"{value:.6g}"
