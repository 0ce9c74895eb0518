"""One training with its data and its predecessor, and the digest that names it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping

from keras_bct.training.recipe import Recipe


@dataclasses.dataclass(frozen=True)
class Training:
    """A recipe, the pictures that it trains on, and the version that it follows.

    Attributes:
        name: For people; no part of the digest.
        recipe: How to train.
        part: The training pictures: `train-quarter`, `train-old` or `train`.
        predecessor: The training of the version to be compatible with, or None.

    Raises:
        ValueError: The method needs a predecessor and there is none, or the other way
            round.

    Example:
        >>> old = Training("old", Recipe("independent", 12, 1200), "train-old")
        >>> new = Training("beta", Recipe("beta", 20, 1500, seed=1), "train", old)
        >>> len(new.digest({"train-old": "1f", "train": "2e"}))
        64
    """

    name: str
    recipe: Recipe
    part: str
    predecessor: Training | None = None

    def __post_init__(self) -> None:
        """Checks that there is a predecessor where the method needs one."""
        if (self.recipe.method == "independent") != (self.predecessor is None):
            raise ValueError(
                "`predecessor` should be None for method 'independent' and a training "
                f"for every other. Received: method {self.recipe.method!r} and "
                f"predecessor {self.predecessor and self.predecessor.name!r}"
            )

    def digest(self, data_digests: Mapping[str, str]) -> str:
        """Names what this training gives: SHA-256 (hex) over all that it depends on.

        Args:
            data_digests: The digest of each part's pictures.

        Returns:
            The digest of recipe, pictures and the predecessor's digest.
        """
        content = {
            "recipe": self.recipe.digested(),
            "data": data_digests[self.part],
            "predecessor": self.predecessor and self.predecessor.digest(data_digests),
        }
        canonical = json.dumps(content, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()
