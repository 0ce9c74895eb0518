"""An adapter's files: written whole or not at all, and checked before they are read."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.description import (
    DESCRIPTION,
    SAVED_MODEL,
    AdapterDescription,
    file_digest,
)
from keras_bct.adapters.embedding_map import EmbeddingMap
from keras_bct.adapters.residual_map import ResidualMap
from keras_bct.adapters.saved_model_map import SavedModelMap

MAPS: dict[str, type[EmbeddingMap]] = {
    AffineMap.kind: AffineMap,
    ResidualMap.kind: ResidualMap,
    SavedModelMap.kind: SavedModelMap,
}
"""The kinds of maps that an adapter's files may hold."""

_SIZES = ("input_size", "output_size", "side_size", "has_variance")
_UNFINISHED = ".writing-"


def write_adapter(directory: Path, embedding_map: EmbeddingMap, **words: Any) -> None:
    """Write a map's files and their description.

    They are written beside their places first and moved when all are whole: the
    description first, which is refused while its files are not there, and
    `saved_model.pb` last. The files of an adapter that was there before are gone by
    then.

    Args:
        directory: Made when it does not exist; files of the same names are replaced.
        embedding_map: The map.
        **words: What `AdapterDescription` has beside the map's own.

    Raises:
        FileExistsError: `directory` holds a SavedModel that is no adapter's.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (
        _lone_writer(directory),
        tempfile.TemporaryDirectory(dir=directory, prefix=_UNFINISHED) as made,
    ):
        space = Path(made)
        embedding_map.save(space)
        files = [path for path in space.rglob("*") if path.is_file()]
        names = sorted(path.relative_to(space).as_posix() for path in files)
        AdapterDescription(
            map=embedding_map.kind,
            files={name: file_digest(space / name) for name in names},
            **{name: getattr(embedding_map, name) for name in _SIZES},
            **words,
        ).write(space)
        replaced = _files_there(directory)
        saved_model = directory / SAVED_MODEL
        if saved_model.exists() and SAVED_MODEL not in replaced:
            raise FileExistsError(
                "`directory` should be empty or hold an adapter. Received: "
                f"{directory}, whose {SAVED_MODEL} is no adapter's, or of one whose "
                f"{DESCRIPTION} cannot be read; give another one."
            )
        saved_model.unlink(missing_ok=True)
        _remove(directory, replaced - set(names))
        for name in [DESCRIPTION, *sorted(names, key=lambda name: name == SAVED_MODEL)]:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(space / name, directory / name)


@contextlib.contextmanager
def _lone_writer(directory: Path) -> Iterator[None]:
    """Let one save at a time, and clear what those left that were killed."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        # Some network file systems lock no directories; nothing is cleared there, as
        # it may be another writer's.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
            for left in directory.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        # Closing alone would leave the lock to children that were forked meanwhile.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _files_there(directory: Path) -> set[str]:
    """The files of the adapter that is saved over.

    Its description stays until the new one takes its place: who is interrupted finds
    all files again that an adapter had, or was to have.
    """
    try:
        return set(AdapterDescription.read(directory).files)
    except (FileNotFoundError, ValueError):
        return set()


def _remove(directory: Path, stale: Collection[str]) -> None:
    # Looked for, not taken at its word: a description may name files of others.
    for path in list(directory.rglob("*")) if stale else []:
        if path.is_file() and path.relative_to(directory).as_posix() in stale:
            path.unlink()
            with contextlib.suppress(OSError):
                os.removedirs(path.parent)


def read_map(directory: str | Path, description: AdapterDescription) -> EmbeddingMap:
    """Read the map that a description is of.

    Args:
        directory: Holds its files.
        description: Read from the same directory.

    Raises:
        ValueError: Files that are not those that were saved, or a map of other sizes
            than the description says.
    """
    description.check_files(directory)
    found = MAPS[description.map].load(Path(directory))
    for name in _SIZES:
        said, is_so = getattr(description, name), getattr(found, name)
        if said != is_so:
            raise ValueError(
                f"`directory`: {DESCRIPTION} says {name} {said}, its map has {is_so}. "
                f"Received: {directory}; save the adapter again."
            )
    return found
