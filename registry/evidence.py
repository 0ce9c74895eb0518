"""Evidence: the measured numbers of one new version, predecessor and protocol."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from registry.errors import IntegrityError, InvalidModelError, RegistryError, UsageError
from registry.fingerprint import fingerprint

if TYPE_CHECKING:
    from keras_bct.evaluation import Comparison, EmbeddingSet, Protocol
    from registry.protocol_data import Pictures
    from registry.schema import EvidenceRow

CONFIDENCE = 0.95
"""Of the intervals that are stored for showing; the gate computes its own."""


@dataclass(frozen=True)
class MetricEvidence:
    """The numbers of one metric.

    Attributes:
        metric: Its name, such as `"retrieval/mAP"`.
        old_old: M(old, old).
        new_old: M(new, old).
        new_new: M(new, new), None where the gallery holds vectors only.
        gain: The update gain (BCT, Eq. 9), None without a paragon or where it is
            undefined.
        low: Lower end of the interval of M(new, old) - M(old, old).
        high: Upper end.
        confidence: Of the interval, two-sided.
        negative_flips: Share of queries that only the old version answers rightly,
            None where the metric has no answers.
    """

    metric: str
    old_old: float
    new_old: float
    new_new: float | None
    gain: float | None
    low: float
    high: float
    confidence: float
    negative_flips: float | None


@dataclass(frozen=True)
class Evidence:
    """What was measured, and on what.

    Attributes:
        new_fingerprint: The version that embeds the queries.
        old_fingerprint: The version that made the gallery.
        paragon_fingerprint: The version at the top of the gain, None without.
        protocol: Absolute path of the protocol file.
        protocol_name: The protocol's own name.
        protocol_digest: SHA-256 of its content, as it was.
        data_digest: SHA-256 over the data that it names, as they were.
        distance: What the embeddings were compared with.
        first_components: K, how many components were compared.
        answer: What the protocol's own gate says: yes, no or undecided.
        reasons: Why.
        seed: Of the bootstrap.
        metrics: The numbers, in the protocol's order.
        comparison: JSON of `keras_bct.evaluation.Comparison`; it holds the
            bootstrap replicates, so another confidence can be asked for later.
        created: When it was stored, None before.
        id: Its number in the registry, None before it is stored.
    """

    new_fingerprint: str
    old_fingerprint: str
    paragon_fingerprint: str | None
    protocol: str
    protocol_name: str
    protocol_digest: str
    data_digest: str
    distance: str
    first_components: int
    answer: str
    reasons: tuple[str, ...]
    seed: int
    metrics: tuple[MetricEvidence, ...]
    comparison: str = field(repr=False)
    created: datetime | None = None
    id: int | None = None

    @classmethod
    def from_row(cls, row: EvidenceRow) -> Evidence:
        """Reads a row of the database."""
        return cls(
            new_fingerprint=row.new_fingerprint,
            old_fingerprint=row.old_fingerprint,
            paragon_fingerprint=row.paragon_fingerprint,
            protocol=row.protocol,
            protocol_name=row.protocol_name,
            protocol_digest=row.protocol_digest,
            data_digest=row.data_digest,
            distance=row.distance,
            first_components=row.first_components,
            answer=row.answer,
            reasons=tuple(row.reasons),
            seed=row.seed,
            metrics=tuple(
                MetricEvidence(
                    metric=m.metric,
                    old_old=m.old_old,
                    new_old=m.new_old,
                    new_new=m.new_new,
                    gain=m.gain,
                    low=m.low,
                    high=m.high,
                    confidence=m.confidence,
                    negative_flips=m.negative_flips,
                )
                for m in row.metrics
            ),
            comparison=row.comparison,
            created=row.created,
            id=row.id,
        )


def check_evidence(evidence: Evidence) -> None:
    """Raises when the parts of evidence do not say the same.

    An edge follows from the answer, and evidence comes from outside too: out of a
    pipeline's artifact, or made by hand.

    Raises:
        UsageError: The answer is not the one that follows from the comparison, or a
            number is none.
    """
    from keras_bct.evaluation import Comparison, decide

    try:
        answer = decide(Comparison.from_json(evidence.comparison)).answer
    except (TypeError, ValueError) as error:
        raise UsageError(f"`comparison` cannot be read: {error}") from error
    if answer != evidence.answer:
        raise UsageError(
            f"`answer` should follow from `comparison`, whose gate answers {answer}. "
            f"Received: {evidence.answer!r}."
        )
    for metric in evidence.metrics:
        for name, value in vars(metric).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(
                    f"`{name}` of {metric.metric} should be finite. Received: {value}."
                )


def measure_evidence(
    new_dir: str | os.PathLike[str],
    old_dir: str | os.PathLike[str],
    protocol_path: str | os.PathLike[str],
    paragon_dir: str | os.PathLike[str] | None = None,
    *,
    galleries: str | os.PathLike[str] | None = None,
) -> Evidence:
    """Measures how well a new version's queries work on an old version's gallery.

    Works on directories, so a pipeline can measure before it registers.

    Args:
        new_dir: SavedModel that embeds the queries.
        old_dir: SavedModel that made, or makes, the gallery.
        protocol_path: YAML file: what M means for this user.
        paragon_dir: SavedModel whose M(new*, new*) is the top of the gain. Without
            it the gain is None.
        galleries: Folder of the registry's galleries, for protocols whose gallery
            has `source: gallery`.

    Returns:
        Evidence that is not stored yet.

    Raises:
        UsageError: The protocol cannot be followed: an empty side, stored vectors
            where pictures are needed, a gallery without vectors of `old_dir`.
        InvalidModelError: An embedding size that the protocol cannot compare.
        IntegrityError: Stored vectors are not those that were written, or a model
            changed meanwhile.
        RegistryError: The data changed meanwhile.
    """
    from keras_bct.evaluation import compare, decide
    from registry import protocol_data

    protocol = protocol_data.read_protocol(protocol_path)
    data = protocol_data.ProtocolData(protocol, galleries)
    data.check_queries()
    folders = [new_dir, old_dir, *([] if paragon_dir is None else [paragon_dir])]
    prints = [fingerprint(folder) for folder in folders]
    new_print, old_print = prints[:2]
    data_digest = data.digest(old_print)
    queries = data.query_pictures()
    stored = data.stored_gallery(old_print)
    pictures = data.gallery_pictures() if stored is None else None
    if stored is not None and paragon_dir is not None:
        raise UsageError(
            f"The gain needs the paragon's embeddings of the gallery's pictures, but "
            f"the gallery of {protocol_path} holds vectors only. Leave the paragon "
            "out, or use a protocol whose gallery has pictures."
        )
    old = _embed(old_dir, queries, pictures)
    new = _embed(new_dir, queries, pictures)
    gallery = old[1] if stored is None else stored
    assert gallery is not None
    _check_sizes(protocol, new[0], gallery, new_dir, old_dir)
    paragon = None
    if paragon_dir is not None:
        paragon_queries, paragon_gallery = _embed(paragon_dir, queries, pictures)
        assert paragon_gallery is not None
        paragon = (paragon_queries, paragon_gallery)
    try:
        comparison = compare(
            protocol,
            old_queries=old[0],
            old_gallery=gallery,
            new_queries=new[0],
            new_gallery=new[1],
            paragon=paragon,
        )
    except ValueError as error:
        raise UsageError(
            f"The protocol {protocol.name!r} cannot be measured: {error}"
        ) from error
    decision = decide(comparison, protocol.gate)
    # Reading and embedding take minutes, and evidence is about what was read.
    again = protocol_data.ProtocolData(protocol, galleries)
    if again.digest(old_print) != data_digest:
        raise RegistryError(
            f"The data of {protocol_path} changed while they were measured. Nothing "
            "was stored; evaluate again when their writer is done."
        )
    for folder, before in zip(folders, prints, strict=True):
        if fingerprint(folder) != before:
            raise IntegrityError(
                f"Files of {folder} changed while it was measured. Nothing was stored; "
                "evaluate again when their writer is done."
            )
    evidence = Evidence(
        new_fingerprint=new_print,
        old_fingerprint=old_print,
        paragon_fingerprint=None if paragon_dir is None else prints[2],
        protocol=str(Path(protocol_path).absolute()),
        protocol_name=protocol.name,
        protocol_digest=protocol.digest(),
        data_digest=data_digest,
        distance=protocol.distance,
        first_components=protocol.first_components or gallery.embedding_size,
        answer=decision.answer,
        reasons=tuple(decision.reasons),
        seed=protocol.bootstrap.seed,
        metrics=_numbers(protocol, comparison),
        comparison=comparison.to_json(),
    )
    check_evidence(evidence)
    return evidence


def _embed(
    directory: str | os.PathLike[str], queries: Pictures, gallery: Pictures | None
) -> tuple[EmbeddingSet, EmbeddingSet | None]:
    """Both sides by one model; it is let go before the next one is loaded."""
    from keras_bct.models import load_embedder

    def embed(side: Pictures) -> EmbeddingSet:
        ids = [str(name) for name in side.ids]
        return side.embedding_set(embedder.embed_bytes(side.images, ids))

    try:
        embedder = load_embedder(directory)
        return embed(queries), None if gallery is None else embed(gallery)
    except (ValueError, FileNotFoundError) as error:
        raise InvalidModelError(str(error)) from error


def _check_sizes(
    protocol: Protocol,
    queries: EmbeddingSet,
    gallery: EmbeddingSet,
    new_dir: str | os.PathLike[str],
    old_dir: str | os.PathLike[str],
) -> None:
    new, old = queries.embedding_size, gallery.embedding_size
    first = protocol.first_components
    if first is None and new != old:
        raise InvalidModelError(
            f"Embeddings of {new_dir} have {new} components, those of {old_dir} "
            f"{old}; the protocol {protocol.name!r} compares equal sizes. If the "
            f"first {min(new, old)} are meant to be compared, say so there: "
            f"`first_components: {min(new, old)}`."
        )
    if first is not None and first > min(new, old):
        raise InvalidModelError(
            f"The protocol {protocol.name!r} compares the first {first} components, "
            f"but {new_dir} gives {new} and {old_dir} {old}."
        )


def _numbers(protocol: Protocol, comparison: Comparison) -> tuple[MetricEvidence, ...]:
    numbers = []
    for metric in protocol.metrics:
        measured = comparison.metrics[metric]
        low, high = measured.difference_interval(CONFIDENCE)
        numbers.append(
            MetricEvidence(
                metric=metric,
                old_old=measured.old_old,
                new_old=measured.new_old,
                new_new=measured.new_new,
                gain=measured.gain,
                low=low,
                high=high,
                confidence=CONFIDENCE,
                negative_flips=measured.negative_flips,
            )
        )
    return tuple(numbers)
