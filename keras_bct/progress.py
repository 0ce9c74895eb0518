"""Progress bars of long work, on standard error."""

from __future__ import annotations

from typing import Any

_SILENT_SECONDS = 2.0


def progress_bar(
    total: int | None, description: str, unit: str, shown: bool = True
) -> Any:
    """A bar that appears after two seconds and clears itself, on a terminal only.

    Args:
        total: How many units of work there are; None when that is not known.
        description: What is being done.
        unit: What a unit is called.
        shown: False: no bar at all.

    Returns:
        A context manager with `update(n)`.
    """
    from tqdm import tqdm

    class Bar(tqdm):
        # The thread that watches for slow bars would outlive the work.
        monitor_interval = 0

    return Bar(
        total=total,
        desc=description,
        unit=unit,
        unit_scale=True,
        delay=_SILENT_SECONDS,
        leave=False,
        # None: only where somebody watches; a log file would be filled with bars.
        disable=None if shown else True,
        dynamic_ncols=True,
    )
