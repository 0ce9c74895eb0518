"""The names of what embeds pictures in a SavedModel: signature, input and output."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

PARTS_FILE = "assets.extra/embedding.json"
"""Names the parts of a SavedModel from elsewhere, where the rule does not find them."""


@dataclass(frozen=True)
class EmbeddingParts:
    """Names of the parts of a SavedModel, each None where `load_embedder` finds it.

    Attributes:
        signature: The signature that embeds.
        input: Its input that takes the pictures.
        output: Its output that is the embedding.
    """

    signature: str | None = None
    input: str | None = None
    output: str | None = None

    @classmethod
    def of(cls, directory: str | os.PathLike[str]) -> EmbeddingParts:
        """Read `assets.extra/embedding.json` of a SavedModel; nothing where it is not.

        Raises:
            ValueError: The file does not hold three names.
        """
        path = Path(directory, PARTS_FILE)
        if not path.is_file():
            return cls()
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{path} should be a JSON object with `signature`, `input` and "
                f"`output`: {error}."
            ) from error

    def to_json(self) -> str:
        """Give what `of` reads.

        >>> print(EmbeddingParts("serve", "image", "features").to_json(), end="")
        {
         "signature": "serve",
         "input": "image",
         "output": "features"
        }
        """
        return json.dumps(asdict(self), indent=1) + "\n"


NOTHING_NAMED = EmbeddingParts()
"""All parts are for `load_embedder` to find."""
