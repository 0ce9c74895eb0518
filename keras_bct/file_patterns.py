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
    pattern = os.fspath(pattern)
    if os.path.isfile(pattern):
        return [pattern]
    folder = os.path.dirname(pattern)
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    found = glob.glob(glob.escape(folder) + pattern[len(folder) :])
    files = sorted(file for file in found if os.path.isfile(file))
    if files:
        return files
    if found:
        raise FileNotFoundError(
            f"No file matches {pattern!r}, which is a folder. Name its files, such as "
            f"{os.path.join(pattern, '*.tfrecord')!r}."
        )
    raise FileNotFoundError(
        f"No file matches {pattern!r}. Check the path; `*` stands for any name."
    )
