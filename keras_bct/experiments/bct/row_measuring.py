"""From trained versions to the numbers of a row, measured once and kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from keras_bct.configuration import from_mapping
from keras_bct.evaluation import EmbeddingSet, Gate, Measurement, Protocol, measure
from keras_bct.experiments.bct.measured import Measured, join
from keras_bct.experiments.bct.table import Row
from keras_bct.experiments.harness.trained_versions import TrainedVersions
from keras_bct.experiments.harness.training import Training
from keras_bct.training.trainer import SIZE_MAP
from keras_bct.written_whole import written_whole

MIXED_SEED = 0
"""Chooses the identities that count as new in a mixed gallery."""

COARSE_SEARCH = "identification/TPIR@FPIR=0.1"
"""Beside 0.01, where 6 of the 600 test probes without a mate set the threshold."""

OF_TEMPLATES = ", gallery of templates"
"""Follows the name of a metric that is measured with one item an identity."""

_SCHEMA = 2


@dataclasses.dataclass(frozen=True)
class Sides:
    """A protocol and the pictures of its two sides.

    Attributes:
        protocol: What M means.
        queries: Names of parts, e.g. `test-queries`.
        gallery: Names of parts, one after the other.
        of_templates: Open-set search as the paper does it: the pictures of an
            identity are one template of the gallery. None: not measured.
    """

    protocol: Protocol
    queries: str
    gallery: tuple[str, ...]
    of_templates: Protocol | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all that is measured."""
        pooled = () if self.of_templates is None else self.of_templates.metrics
        return (
            *self.protocol.metrics,
            *(metric + OF_TEMPLATES for metric in pooled),
        )


def sides(protocol: str, data: Path) -> Sides:
    """Gives the test of a table.

    Args:
        protocol: `search` reads `kanji-test.yaml`; `validation` reads
            `kanji-validation.yaml`; `reidentification` takes the test pictures, every
            one of them in the gallery, with the camera rule.
        data: As `kanji_data.prepare` writes it.
    """
    part = "validation" if protocol == "validation" else "test"
    search = Protocol.from_yaml(data / f"kanji-{part}.yaml")
    if protocol in ("search", "validation"):
        search = dataclasses.replace(search, metrics=(*search.metrics, COARSE_SEARCH))
        of_templates = dataclasses.replace(
            search,
            name=f"kanji-{part}-templates",
            gallery=dataclasses.replace(search.gallery, template="label"),
            metrics=("identification/TPIR@FPIR=0.01", COARSE_SEARCH),
            gate=Gate(metrics=(COARSE_SEARCH,)),
        )
        return Sides(search, f"{part}-queries", (f"{part}-gallery",), of_templates)
    gallery = dataclasses.replace(search.gallery, path="test-*.tfrecord")
    reidentification = dataclasses.replace(
        search,
        name="kanji-reidentification",
        gallery=gallery,
        metrics=("retrieval/mAP", "retrieval/CMC@1"),
        exclude=("self", "same_camera"),
    )
    return Sides(reidentification, "test-queries", ("test-gallery", "test-queries"))


class RowMeasuring:
    """Measures rows; a row is measured once for the digests of all it depends on.

    Args:
        versions: The trained versions.
        test: Protocol and pictures.
        say: Takes a line of progress.
    """

    def __init__(
        self,
        versions: TrainedVersions,
        test: Sides,
        say: Callable[[str], None] = print,
    ) -> None:
        self._versions = versions
        self.test = test
        self._say = say
        self._self_tests: dict[tuple[str, str], Measurement] = {}

    def __call__(self, row: Row) -> dict[str, Measured]:
        """Gives the numbers of each metric, from the output folder where they are."""
        path = self._path(row)
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            return {
                metric: from_mapping(Measured, values, source=os.fspath(path))
                for metric, values in stored.items()
            }
        self._say(f"measuring {row.title} on {self.test.protocol.name}")
        measured = self._measure(row)
        content = {
            name: dataclasses.asdict(values) for name, values in measured.items()
        }
        text = json.dumps(content, indent=1) + "\n"
        with written_whole(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        return measured

    def forget(self) -> None:
        """Lets go of the self-tests, which rows of one seed share."""
        self._self_tests.clear()

    def _path(self, row: Row) -> Path:
        data = self._versions.data_digests
        content = {
            "schema": _SCHEMA,
            "new": row.new.digest(data),
            "old": row.old.digest(data),
            "paragon": row.paragon and row.paragon.digest(data),
            "protocol": self.test.protocol.digest(),
            "pictures": self._versions.digests((self.test.queries, *self.test.gallery)),
            "mixed": MIXED_SEED,
        }
        if self.test.of_templates is not None:
            content["templates"] = self.test.of_templates.digest()
        name = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return self._versions.directory / "measurements" / f"{name[:16]}.json"

    def _measure(self, row: Row) -> dict[str, Measured]:
        measured = self._measure_by(self.test.protocol, row)
        if self.test.of_templates is not None:
            pooled = self._measure_by(self.test.of_templates, row)
            measured |= {
                metric + OF_TEMPLATES: numbers for metric, numbers in pooled.items()
            }
        return measured

    def _measure_by(self, protocol: Protocol, row: Row) -> dict[str, Measured]:
        old_gallery = self._gallery(row.old, protocol)
        size = old_gallery.embedding_size
        new_queries = self._comparable(row.new, self._queries(row.new), size)
        new_gallery = self._comparable(row.new, self._gallery(row.new, protocol), size)
        return join(
            protocol,
            old_old=self._self_test(row.old, protocol),
            new_old=measure(protocol, new_queries, old_gallery),
            new_mixed=measure(protocol, new_queries, mixed(old_gallery, new_gallery)),
            new_new=self._self_test(row.new, protocol),
            agreement=agreement(self._queries(row.old), new_queries),
            paragon=None
            if row.paragon is None
            else self._self_test(row.paragon, protocol),
        )

    def _self_test(self, training: Training, protocol: Protocol) -> Measurement:
        """M(a, a), all components."""
        key = (training.digest(self._versions.data_digests), protocol.name)
        if key not in self._self_tests:
            self._self_tests[key] = measure(
                protocol, self._queries(training), self._gallery(training, protocol)
            )
        return self._self_tests[key]

    def _queries(self, training: Training) -> EmbeddingSet:
        return self._versions.embeddings(training, self.test.queries)

    def _gallery(self, training: Training, protocol: Protocol) -> EmbeddingSet:
        parts = [
            self._versions.embeddings(training, part) for part in self.test.gallery
        ]
        cameras = [part.cameras for part in parts if part.cameras is not None]
        labels = np.concatenate([part.labels for part in parts])
        return EmbeddingSet(
            np.concatenate([part.ids for part in parts]),
            labels,
            np.concatenate(cameras) if len(cameras) == len(parts) else None,
            np.concatenate([part.embeddings for part in parts]),
            templates=labels if protocol.gallery.template == "label" else None,
        )

    def _comparable(
        self, training: Training, embedded: EmbeddingSet, size: int
    ) -> EmbeddingSet:
        """What is compared with the old embedding: a learned map's, or the first K."""
        embeddings = embedded.embeddings
        if training.recipe.size_map:
            extra = self._versions.version(training) / "assets.extra"
            embeddings = embeddings @ np.load(extra / SIZE_MAP, allow_pickle=False)
        return dataclasses.replace(embedded, embeddings=embeddings[:, :size])


def mixed(old: EmbeddingSet, new: EmbeddingSet) -> EmbeddingSet:
    """Gives the gallery as it is some time after the update.

    Args:
        old: The gallery embedded by the old version.
        new: The same items in the same order, embedded by the new version.

    Returns:
        The items of a seeded half of the identities from `new`, the others from `old`.
    """
    identities = np.unique(old.labels)
    order = np.random.default_rng(MIXED_SEED).permutation(len(identities))
    made_by_new = np.isin(old.labels, identities[order[: len(identities) // 2]])
    return dataclasses.replace(
        old, embeddings=np.where(made_by_new[:, None], new.embeddings, old.embeddings)
    )


def agreement(old: EmbeddingSet, new: EmbeddingSet) -> float:
    """Gives the mean cosine of two versions' embeddings of the same items.

    Args:
        old: n items.
        new: The same items in the same order, of the same size.
    """
    products = np.sum(old.embeddings * new.embeddings, axis=1)
    lengths = [np.linalg.norm(side.embeddings, axis=1) for side in (old, new)]
    return float(np.mean(products / (lengths[0] * lengths[1])))
