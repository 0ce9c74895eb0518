"""What a training depends on, so that no checkpoint of another one is taken up."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from keras_bct.training.pictures import TrainingPictures
from keras_bct.training.recipe import Recipe

_ELSEWHERE = ("data", "predecessor")


def identity(
    recipe: Recipe, pictures: TrainingPictures, predecessor: str | None
) -> dict[str, Any]:
    """Gives recipe, pictures and predecessor as plain values.

    Where data and predecessor lie does not matter, only what they hold.

    Args:
        recipe: The recipe.
        pictures: Their ids and labels, in their order, are digested.
        predecessor: Directory of the old version, all of whose files are digested.
    """
    fields = recipe.digested()
    names = hashlib.sha256()
    for column in (pictures.ids, pictures.labels):
        names.update("\0".join(column.tolist()).encode())
    return {
        **{name: value for name, value in fields.items() if name not in _ELSEWHERE},
        "pictures (SHA-256 of ids and labels)": names.hexdigest(),
        "predecessor (SHA-256)": predecessor and _directory_digest(Path(predecessor)),
    }


def _directory_digest(directory: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            whole.update(str(path.relative_to(directory)).encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
