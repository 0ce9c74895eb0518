"""A file that is there whole or not at all, whenever its writer is killed."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Gives a file to write in place of `path`, and puts it there when it is written.

    Readers find the file from before, or none, until then. Each process writes one of
    its own, so that two that write the same do not write into each other's. One that is
    killed leaves it behind, hidden and read by nobody. A link stays, and what it leads
    to is written; a pipe or device such as `/dev/stdout` is written as it is.

    Args:
        path: Where the file goes; its folder is made when it is not there.

    Returns:
        A context manager that gives the path to write to, beside `path` and with its
        suffix, which some libraries insist on.

    Raises:
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "results" / "table.md"
        >>> with written_whole(path) as unfinished:
        ...     _ = unfinished.write_text("| mAP |", encoding="utf-8")
        ...     path.exists()
        False
        >>> [file.name for file in path.parent.iterdir()]
        ['table.md']
    """
    if path.is_relative_to("/dev") or (path.exists() and not path.is_file()):
        yield path
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield unfinished
        # On the disk before its name is, or a power cut leaves the name of nothing.
        _sync(unfinished)
        os.replace(unfinished, path)
        _sync(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
