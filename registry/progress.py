"""Progress bars of long work, on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from keras_bct.progress import progress_bar
from registry.fingerprint import Progress

Reporter = Callable[[str, "int | None"], contextlib.AbstractContextManager[Progress]]
"""Takes a title and the number of bytes in all, None when that is not known."""


@contextlib.contextmanager
def show_bytes(title: str, total: int | None) -> Iterator[Progress]:
    """A bar that counts bytes."""
    with progress_bar(total, title, "B") as bar:
        yield bar.update
