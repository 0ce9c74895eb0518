"""A progress bar with the time left, for work that takes more than two seconds."""

from __future__ import annotations

from typing import Any

_SILENT_SECONDS = 2.0


def progress_bar(total: int, description: str, unit: str, shown: bool = True) -> Any:
    """A bar on standard error that appears after two seconds and clears itself.

    Args:
        total: How many units of work there are.
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
        disable=not shown,
        dynamic_ncols=True,
    )
