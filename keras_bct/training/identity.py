"""What a training depends on, so that nothing of another one is taken for its own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bct.evaluation import Protocol, data_digest
from keras_bct.training.pictures import TrainingPictures
from keras_bct.training.recipe import Recipe

_ELSEWHERE = ("data", "predecessor", "criterion")


def identity(
    recipe: Recipe, pictures: TrainingPictures, predecessor: str | None
) -> dict[str, Any]:
    """Gives recipe, pictures, predecessor and criterion as plain JSON values.

    Where they lie does not matter, only what they hold. Pictures count to their last
    byte: a set that was drawn anew or compressed more has the names and often the
    sizes of the one before. They are read for the training in any case, and digesting
    them then costs less than that.

    Args:
        recipe: The recipe.
        pictures: What is trained on.
        predecessor: Directory of the old version, all of whose files are digested; of
            no matter to `independent`.

    Raises:
        FileNotFoundError: There is no such protocol, or a side of it has no file.
        ValueError: The protocol cannot be read.
    """
    fields = recipe.digested()
    content = {name: value for name, value in fields.items() if name not in _ELSEWHERE}
    content["pictures (SHA-256)"] = pictures.digest()
    if recipe.method != "independent" and predecessor is not None:
        content["predecessor (SHA-256)"] = _directory_digest(Path(predecessor))
    if recipe.criterion is not None:
        protocol = Protocol.from_yaml(recipe.criterion.protocol)
        content["criterion"] = {
            **dataclasses.asdict(recipe.criterion),
            "protocol": protocol.digest(),
            "pictures": data_digest(protocol),
        }
    # As it comes back from a file: tuples are lists.
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain


def differences(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Says in what two identities differ; nothing where they do not.

    Example:
        >>> differences({"seed": 1, "width": 8}, {"seed": 2, "width": 8})
        '`seed` was 1 and is 2'
    """
    return "; ".join(
        f"`{name}` was {kept.get(name)!r} and is {wanted.get(name)!r}"
        for name in sorted({*kept, *wanted})
        if kept.get(name) != wanted.get(name)
    )


def _directory_digest(directory: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            whole.update(str(path.relative_to(directory)).encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
