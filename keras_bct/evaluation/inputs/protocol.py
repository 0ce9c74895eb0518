"""The protocol: a file that says what M means for one user."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bct.checked_choice import check_choice
from keras_bct.checked_numbers import make_plain
from keras_bct.configuration import from_mapping, load_yaml
from keras_bct.distances import DISTANCES
from keras_bct.evaluation.inputs.metric_name import MetricName

SOURCES = ("embeddings", "gallery", "tfrecord")
EXCLUSIONS = ("junk", "same_camera", "self")


def check_confidence(confidence: float) -> None:
    """Refuses a confidence that does not lie strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(
            f"`confidence` should lie between 0 and 1. Received: {confidence}."
        )


@dataclasses.dataclass(frozen=True)
class Source:
    """Where the items of one side come from.

    Attributes:
        source: `tfrecord` (images), `gallery` (stored embeddings of the registry) or
            `embeddings` (a npy, npz, Parquet or Arrow file).
        path: A file, a glob pattern or a gallery's name; relative to the protocol
            file unless the source is `gallery`.
        id: Name of the column or feature with the item's id.
        label: Name of the column or feature with the class, person or object.
        camera: Name of the column or feature with the camera; None without one.
        template: Name of the column or feature with the template; None: one item,
            one template.
        medium: Name of the column or feature with the medium (the frames of one video
            share one); None: every item is a medium of its own.
        quality: Name of the column or feature with the weight of an item in its
            template; None: equal weights.

    Raises:
        ValueError: The kind of source is unknown or the path is empty.
    """

    source: str
    path: str
    id: str = "id"
    label: str = "label"
    camera: str | None = None
    template: str | None = None
    medium: str | None = None
    quality: str | None = None

    def __post_init__(self) -> None:
        """Checks the kind of source and the path."""
        check_choice("source", self.source, SOURCES)
        if not self.path:
            raise ValueError("`path` should name a file or gallery. Received: ''.")


@dataclasses.dataclass(frozen=True)
class Gate:
    """The rule that turns numbers into yes, no or cannot be decided.

    Attributes:
        metrics: Every one of these must pass. Empty: `retrieval/mAP` where the
            protocol has it, else its first metric that rises as the model gets better.
        confidence: Of the two-sided interval of M(new, old) - M(old, old).
        min_gain: The least update gain asked for; None asks for none.

    Raises:
        ValueError: The confidence does not lie between 0 and 1, or the least gain is
            not finite.
    """

    metrics: tuple[str, ...] = ()
    confidence: float = 0.95
    min_gain: float | None = None

    def __post_init__(self) -> None:
        """Checks the confidence and the least gain."""
        make_plain(self)
        check_confidence(self.confidence)
        if self.min_gain is not None and not math.isfinite(self.min_gain):
            raise ValueError(
                f"`min_gain` should be finite, or null. Received: {self.min_gain}."
            )


@dataclasses.dataclass(frozen=True)
class Bootstrap:
    """How the uncertainty is estimated.

    Attributes:
        replicates: How many times the identities are resampled.
        seed: Of the resampling: the same seed gives the same intervals.
        unit: What is resampled; only `identity`.

    Raises:
        ValueError: Fewer than 100 replicates, a negative seed, or another unit.
    """

    replicates: int = 2000
    seed: int = 0
    unit: str = "identity"

    def __post_init__(self) -> None:
        """Checks the number of replicates, the seed and the unit."""
        make_plain(self)
        if self.replicates < 100:
            raise ValueError(
                "`replicates` should be at least 100 for an interval to mean "
                f"something. Received: {self.replicates}."
            )
        if self.seed < 0:
            raise ValueError(f"`seed` should not be negative. Received: {self.seed}.")
        check_choice("unit", self.unit, ("identity",))


@dataclasses.dataclass(frozen=True)
class Protocol:
    """What M means for this user: two sides, a distance, metrics and a gate.

    Attributes:
        name: The protocol's name in evidence and reports.
        queries: The side that the new model embeds.
        gallery: The side that holds the stored embeddings.
        metrics: Names of metrics; `KNOWN_METRICS` lists them.
        distance: `cosine`, `l2` or `inner_product`.
        first_components: Compare only the first K components, cut before anything is
            normalised; None: both sides are of one size.
        exclude: Which pairs do not count: `self` (one id), `same_camera` (one label
            and one camera), `junk` (items labelled `-1`).
        gate: The rule that reads the evidence.
        bootstrap: How the interval is estimated.
        pairs: A CSV file with the columns `query` and `gallery` (ids): verification
            takes these pairs only. None: every query with every gallery item.
        directory: Where relative paths start; no part of the file or the digest.

    Raises:
        ValueError: Empty or unknown metrics, none that a gate can read, a gate on a
            metric that is not measured or falls as the model gets better, an unknown
            distance or exclusion, K below 1.

    Example:
        >>> protocol = Protocol(
        ...     name="faces",
        ...     queries=Source("embeddings", "queries.npz"),
        ...     gallery=Source("embeddings", "gallery.npz"),
        ...     metrics=("retrieval/mAP", "retrieval/CMC@1"),
        ... )
        >>> protocol.gate_metrics
        ('retrieval/mAP',)
    """

    name: str
    queries: Source
    gallery: Source
    metrics: tuple[str, ...]
    distance: str = "cosine"
    first_components: int | None = None
    exclude: tuple[str, ...] = ("self",)
    gate: Gate = Gate()
    bootstrap: Bootstrap = Bootstrap()
    pairs: str | None = None
    directory: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        """Checks every value, and the values against each other."""
        make_plain(self)
        if not self.name:
            raise ValueError("`name` should not be empty.")
        check_choice("distance", self.distance, DISTANCES)
        for exclusion in self.exclude:
            check_choice("exclude", exclusion, EXCLUSIONS)
        if self.first_components is not None and self.first_components < 1:
            raise ValueError(
                "`first_components` should be at least 1, or null. "
                f"Received: {self.first_components}."
            )
        if (1 - self.gate.confidence) / 2 * self.bootstrap.replicates < 1 - 1e-9:
            raise ValueError(
                f"`bootstrap.replicates` should be at least 2 / (1 - confidence), else "
                f"they cannot tell at `gate.confidence`. Received: "
                f"{self.bootstrap.replicates} at {self.gate.confidence}."
            )
        if not self.metrics:
            raise ValueError("`metrics` should name at least one metric. Received: [].")
        parsed = {name: MetricName.parse(name) for name in self.metrics}
        for name in self.gate.metrics:
            MetricName.parse(name)
            if name not in parsed:
                raise ValueError(
                    "`gate.metrics` should be among the `metrics` that the protocol "
                    f"measures. Received: {name!r}, measured: "
                    f"{', '.join(self.metrics)}."
                )
        if not self.gate_metrics:
            raise ValueError(
                "`metrics` should have one that rises as the model gets better, which "
                f"the gate can read. Received: {', '.join(self.metrics)}; add "
                "verification/TAR@FAR=x."
            )
        for name in self.gate_metrics:
            if not parsed[name].higher_is_better:
                raise ValueError(
                    "`gate.metrics` should name metrics that rise as the model gets "
                    f"better. Received: {name!r}; take verification/TAR@FAR=x."
                )

    @property
    def gate_metrics(self) -> tuple[str, ...]:
        """The metrics that must pass, the default filled in."""
        if self.gate.metrics:
            return self.gate.metrics
        if "retrieval/mAP" in self.metrics:
            return ("retrieval/mAP",)
        rising = [name for name in self.metric_names if name.higher_is_better]
        return tuple(name.name for name in rising[:1])

    @property
    def metric_names(self) -> tuple[MetricName, ...]:
        """The metrics, taken apart."""
        return tuple(MetricName.parse(name) for name in self.metrics)

    @classmethod
    def from_mapping(
        cls, values: Mapping[str, Any], *, source: str, directory: str = ""
    ) -> Protocol:
        """Builds a protocol from nested plain values, as `from_yaml` reads them.

        Args:
            values: The protocol's keys.
            source: Where they come from, for error messages.
            directory: Where relative paths start.

        Raises:
            ValueError: A key is unknown or missing, or a value is wrong.
        """
        if isinstance(values, Mapping) and "directory" in values:
            raise ValueError(f"{source}: unknown key 'directory'.")
        protocol = from_mapping(cls, values, source=source)
        return dataclasses.replace(protocol, directory=directory)

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Protocol:
        """Reads a protocol file.

        Args:
            path: The file; relative paths inside it start at its directory.

        Raises:
            ValueError: Not YAML, a key is unknown or missing, or a value is wrong.
            FileNotFoundError: There is no such file.
        """
        values = load_yaml(path)
        directory = Path(path).resolve().parent
        return cls.from_mapping(
            values, source=os.fspath(path), directory=os.fspath(directory)
        )

    def to_mapping(self) -> dict[str, Any]:
        """The protocol as nested plain values, every default filled in."""
        values = dataclasses.asdict(self)
        del values["directory"]
        values["gate"]["metrics"] = self.gate_metrics
        return dict(json.loads(json.dumps(values)))

    def digest(self) -> str:
        """SHA-256 (hex) of the content: the same for every spelling of one protocol.

        It does not depend on the order of keys, on defaults left out or written, or on
        where the file lies.
        """
        canonical = json.dumps(self.to_mapping(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode("utf-8")).hexdigest()

    def locate(self, path: str) -> str:
        """A path of the protocol, seen from where the protocol file lies."""
        if "://" in path:
            return path
        return os.path.join(self.directory, path)
