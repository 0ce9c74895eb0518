"""Old embeddings of the test pictures, mapped once and kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from keras_bct.array_file import write_array
from keras_bct.classifier import Classifier
from keras_bct.evaluation import EmbeddingSet
from keras_bct.experiments.fastfill.map_methods import (
    Backward,
    Floats,
    MapMethod,
    Mapped,
    Pairs,
    description,
)
from keras_bct.experiments.fastfill.side_information import SideInformation
from keras_bct.experiments.harness.trained_versions import TrainedVersions
from keras_bct.experiments.harness.training import Training
from keras_bct.written_whole import written_whole


@dataclasses.dataclass(frozen=True)
class Migration:
    """An old model, a new one, and the pictures that a map between them is fitted to.

    Attributes:
        old: The model that made the gallery.
        new: The model that embeds the queries.
        part: The training pictures of the map: the new model's own.
    """

    old: Training
    new: Training
    part: str


class AlignedParts:
    """Maps fitted when they are asked for; what they give is kept by digest.

    The digest is over the method's configuration, both models and the pictures. A
    changed *map's code* is not seen: give another output folder after changing it.

    Args:
        versions: The trained image models.
        say: Takes a line of progress.
    """

    def __init__(
        self, versions: TrainedVersions, say: Callable[[str], None] = print
    ) -> None:
        self.versions = versions
        self.side = SideInformation(versions, say)
        self._say = say
        self._fitted: dict[str, Callable[[Floats, Floats | None], Mapped]] = {}

    def mapped(self, method: MapMethod, migration: Migration, part: str) -> Mapped:
        """Gives the embeddings of a part, mapped: the old ones, or by B the new ones.

        Args:
            method: The map.
            migration: From where to where.
            part: A part of the pictures.

        Returns:
            Aligned embeddings, and `log sigma^2` or None.
        """
        digest = self.digest(method, migration)
        folder = self.versions.directory / "maps" / digest[:16]
        stored = [folder / f"{part}-{what}.npy" for what in ("embedding", "variance")]
        if not stored[0].exists():
            if digest not in self._fitted:
                self._say(f"fitting {method}")
                self._fitted = {digest: method.fit(self._pairs(method, migration))}
            backward = isinstance(method, Backward)
            source = migration.new if backward else migration.old
            rows = self.versions.embeddings(source, part).embeddings
            side = self.side.of(part) if _takes_side(method) else None
            embeddings, variance = self._fitted[digest](rows, side)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "map.json").write_text(
                json.dumps(self._description(method, migration), indent=1) + "\n",
                encoding="utf-8",
            )
            if variance is not None:
                _save(stored[1], variance)
            _save(stored[0], embeddings)
        variance = np.load(stored[1]) if stored[1].exists() else None
        return np.load(stored[0]), variance

    def digest(self, method: MapMethod, migration: Migration) -> str:
        """Names what a map gives: SHA-256 (hex) over all that it depends on."""
        content = json.dumps(self._description(method, migration), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def _description(self, method: MapMethod, migration: Migration) -> dict[str, Any]:
        data = self.versions.data_digests
        return {
            "method": description(method),
            "old": migration.old.digest(data),
            "new": migration.new.digest(data),
            "pictures": data[migration.part],
            **({"side": self.side.digest()} if _takes_side(method) else {}),
        }

    def _pairs(self, method: MapMethod, migration: Migration) -> Pairs:
        old = self.versions.embeddings(migration.old, migration.part)
        new = self.versions.embeddings(migration.new, migration.part)
        extra = self.versions.version(migration.new) / "assets.extra"
        side = self.side.of(migration.part) if _takes_side(method) else None
        return Pairs(
            old.embeddings, new.embeddings, new.labels, Classifier.load(extra), side
        )

    def items(self, training: Training, part: str) -> EmbeddingSet:
        """A part as a model itself embeds it."""
        return self.versions.embeddings(training, part)


def _takes_side(method: MapMethod) -> bool:
    return bool(getattr(method, "side_information", False))


def _save(path: Path, values: Floats) -> None:
    with written_whole(path) as unfinished:
        write_array(unfinished, values.astype(np.float32))
