"""Which files a path or a pattern names."""

from __future__ import annotations

import glob
import os


def matching_files(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the files that a path or a pattern names, sorted.

    A path that exists is that file, whatever characters it has; so is a folder at the
    beginning of a pattern. In what is left `*`, `?` and `[...]` stand for others. They
    match no hidden file: those are other programs' own.

    Args:
        pattern: a path or a pattern on a local disk.

    Raises:
        FileNotFoundError: nothing matches, or folders alone.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp(), "run[1]")
    >>> folder.mkdir()
    >>> for name in ("a.tfrecord", "b.tfrecord", "._a.tfrecord"):
    ...     (folder / name).touch()
    >>> [os.path.basename(file) for file in matching_files(folder / "*.tfrecord")]
    ['a.tfrecord', 'b.tfrecord']
    """
    found = matching_paths(pattern)
    files = [path for path in found if os.path.isfile(path)]
    if files:
        return files
    if found:
        raise FileNotFoundError(
            f"No file matches {os.fspath(pattern)!r}, which is a folder. Name its "
            f"files, such as {os.path.join(pattern, '*.tfrecord')!r}."
        )
    raise FileNotFoundError(
        f"No file matches {os.fspath(pattern)!r}. Check the path; `*` stands for any "
        "name."
    )


def matching_paths(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the files and folders that a path or a pattern names, sorted, or none.

    Args:
        pattern: as for `matching_files`.
    """
    pattern = os.fspath(pattern)
    if os.path.exists(pattern):
        return [pattern]
    folder = os.path.dirname(pattern)
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return sorted(glob.glob(glob.escape(folder) + pattern[len(folder) :]))
