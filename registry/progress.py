"""Progress bars of long work, on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from registry.fingerprint import Progress

Reporter = Callable[[str, "int | None"], contextlib.AbstractContextManager[Progress]]
"""Takes a title and the number of bytes in all, None when that is not known."""


@contextlib.contextmanager
def show_bytes(title: str, total: int | None) -> Iterator[Progress]:
    """A bar that counts bytes, shown to a terminal after a second of work."""
    from tqdm import tqdm

    with tqdm(
        desc=title,
        total=total,
        unit="B",
        unit_scale=True,
        delay=1,
        leave=False,
        # None: only where somebody watches.
        disable=None,
    ) as bar:
        yield bar.update
