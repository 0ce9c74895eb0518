"""What every benchmark is made of: figures with limits, sides timed in turn, a main.

A part measures one thing: it takes a `Runner` and a size, and gives figures.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Figure:
    """One line of the result.

    Attributes:
        name: What is compared.
        ratio: The figure.
        limit: What it is held to.
        at_most: Whether the limit is an upper one.
    """

    name: str
    ratio: float
    limit: float
    at_most: bool = True

    @property
    def holds(self) -> bool:
        """Whether the figure keeps its limit."""
        return self.ratio <= self.limit if self.at_most else self.ratio >= self.limit


class Runner:
    """Times two sides in turn."""

    def __init__(self, clock: Callable[[], float], repeats: int) -> None:
        self._clock, self._repeats = clock, repeats

    def best(self, *sides: Callable[[], object]) -> list[float]:
        """The shortest time of each side."""
        times: list[list[float]] = [[] for _ in sides]
        for _ in range(self._repeats):
            for side, spent in zip(sides, times, strict=True):
                start = self._clock()
                side()
                spent.append(self._clock() - start)
        return [min(spent) for spent in times]


def processor() -> str:
    """What a figure was measured on: how two sides compare differs between processors.

    Example:
        >>> print(processor())  # doctest: +SKIP
        AMD EPYC, 2 cores, AVX2
    """
    facts = {}
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip()
    flags = facts.get("flags", facts.get("Features", "")).split()
    widest = next((f for f in ("avx512f", "avx2", "avx", "asimd") if f in flags), "")
    model = facts.get("model name", platform.machine())
    cores = len(os.sched_getaffinity(0))
    return ", ".join(filter(None, (model, f"{cores} cores", widest.upper())))


def peak_above(work: Callable[[], object]) -> int:
    """How many bytes more than before are resident at the peak of some work."""

    def resident(name: str) -> int:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise OSError(f"/proc/self/status has no {name}")

    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = resident("VmRSS")
    work()
    return resident("VmHWM") - before


Parts = Mapping[str, tuple[Callable[[Runner, int], list[Figure]], int, int]]
"""Each part by its name, with its size and that of `--quick`."""


def command_line(
    description: str | None, parts: Parts, *, repeats: int
) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--json", metavar="FILE", help="write the figures")
    add("--quick", action="store_true", help="smaller sizes, no limits")
    add("--only", choices=parts, action="append", help="this part")
    add("--clock", choices=("wall", "cpu"), default="wall")
    add("--repeats", type=int, default=repeats)
    return parser


def runner(arguments: argparse.Namespace) -> Runner:
    """Times by the clock, and as often, as the command line says."""
    clock = time.perf_counter if arguments.clock == "wall" else time.process_time
    return Runner(clock, arguments.repeats)


def print_figures(parts: Parts, arguments: argparse.Namespace) -> int:
    """Measures the parts, prints and writes; 1 where a figure misses its limit."""
    run = runner(arguments)
    measured_on = processor()
    print(f"on {measured_on}", flush=True)
    figures = []
    for name in arguments.only or parts:
        work, size, quick_size = parts[name]
        for figure in work(run, quick_size if arguments.quick else size):
            sign = "at most" if figure.at_most else "at least"
            mark = "holds" if figure.holds else "does not hold"
            limit = f"{sign} {figure.limit:.3g}"
            print(f"{figure.name:75} {figure.ratio:8.3f}  {limit}  {mark}", flush=True)
            figures.append(figure)
    if arguments.json:
        rows = [
            {
                "name": figure.name,
                "ratio": figure.ratio,
                "limit": figure.limit,
                "holds": bool(figure.holds),
                "processor": measured_on,
            }
            for figure in figures
        ]
        Path(arguments.json).write_text(
            json.dumps(rows, indent=2) + "\n", encoding="utf-8"
        )
    return int(not arguments.quick and not all(figure.holds for figure in figures))
