"""Measuring evidence: each side embedded by its version, compared by the protocol."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

from registry.errors import IntegrityError, InvalidModelError, RegistryError, UsageError
from registry.evidence.evidence import (
    Evidence,
    MetricEvidence,
    check_evidence,
    refuse_itself,
)
from registry.fingerprint import fingerprint

if TYPE_CHECKING:
    from keras_bct.data import ImageRecords
    from keras_bct.evaluation import Comparison, EmbeddingSet, Protocol

CONFIDENCE = 0.95
"""Of the intervals that are stored for showing; the gate computes its own."""

Folder = str | os.PathLike[str]


def measure_evidence(
    new_dir: Folder,
    old_dir: Folder,
    protocol_path: Folder,
    paragon_dir: Folder | None = None,
    *,
    adapter_dir: Folder | None = None,
    galleries: Folder | None = None,
) -> Evidence:
    """Measures how well a new version's queries work on an old version's gallery.

    With an adapter h the gallery goes through it first: M(new, h(old)) is compared with
    M(old, old), which stays as it is. Works on directories, so a pipeline can measure
    before it registers.

    Args:
        new_dir: SavedModel that embeds the queries.
        old_dir: SavedModel that made, or makes, the gallery.
        protocol_path: YAML file: what M means for this user.
        paragon_dir: SavedModel whose M(new*, new*) is the top of the gain, `new_dir`
            itself where it was trained freely. Without it the gain is None.
        adapter_dir: Adapter from the old version's space; it need not lead to the new
            version's own, since what counts is what is measured.
        galleries: Folder of the registry's galleries, for protocols whose gallery
            has `source: gallery`.

    Returns:
        Evidence that is not stored yet.

    Raises:
        UsageError: The protocol cannot be followed: an empty side, stored vectors
            where pictures are needed, a gallery without vectors of `old_dir`; or the
            adapter maps other vectors than the old version's, or both are one version.
        InvalidModelError: An embedding size that the protocol cannot compare.
        IntegrityError: Stored vectors are not those that were written, or a model
            changed meanwhile.
        RegistryError: The data changed meanwhile.
    """
    from keras_bct.evaluation import compare, decide
    from registry.adapters.files import open_adapter
    from registry.evidence import protocol_data

    protocol = protocol_data.read_protocol(protocol_path)
    data = protocol_data.ProtocolData(protocol, galleries)
    data.check_sides()
    if protocol.gallery.source == "gallery" and paragon_dir is not None:
        raise UsageError(
            f"The gain needs the paragon's embeddings of the gallery's pictures, but "
            f"the gallery of {protocol_path} holds vectors only. Leave the paragon "
            "out, or use a protocol whose gallery has pictures."
        )
    folders = {"new": new_dir, "old": old_dir}
    if paragon_dir is not None:
        folders["paragon"] = paragon_dir
    if adapter_dir is not None:
        folders["adapter"] = adapter_dir
    prints = {name: fingerprint(folder) for name, folder in folders.items()}
    adapter = None
    if adapter_dir is not None:
        refuse_itself(prints["new"], prints["old"])
        adapter = open_adapter(Path(adapter_dir), prints["old"])
    data_digest = data.digest(prints["old"])
    queries = data.query_pictures()
    stored = data.stored_gallery(prints["old"])
    pictures = data.gallery_pictures() if stored is None else None
    old = _embed(old_dir, queries, pictures)
    new = _embed(new_dir, queries, pictures)
    gallery = old[1] if stored is None else stored
    assert gallery is not None
    mapped = gallery
    if adapter is not None:
        try:
            mapped = dataclasses.replace(
                gallery,
                embeddings=adapter.transform(
                    gallery.embeddings, fingerprint=prints["old"]
                ),
            )
        except ValueError as error:
            raise UsageError(
                f"The gallery cannot go through {adapter_dir}: {error}"
            ) from error
    came_from = str(old_dir if adapter_dir is None else adapter_dir)
    _check_sizes(protocol, new[0], mapped, str(new_dir), came_from)
    paragon = None
    if paragon_dir is not None:
        # A new version that was trained freely is its own paragon.
        same = prints["paragon"] == prints["new"]
        queries_too, gallery_too = (
            new if same else _embed(paragon_dir, queries, pictures)
        )
        assert gallery_too is not None
        paragon = (queries_too, gallery_too)
    try:
        comparison = compare(
            protocol,
            old_queries=old[0],
            old_gallery=gallery,
            new_queries=new[0],
            new_gallery=new[1],
            searched=mapped,
            paragon=paragon,
        )
    except ValueError as error:
        raise UsageError(
            f"The protocol {protocol.name!r} cannot be measured: {error}"
        ) from error
    doubts = data.doubts(prints["old"])
    comparison = dataclasses.replace(
        comparison, warnings=(*doubts, *comparison.warnings)
    )
    decision = decide(comparison, protocol.gate)
    # Reading and embedding take minutes, and evidence is about what was read.
    again = protocol_data.ProtocolData(protocol, galleries)
    if again.digest(prints["old"]) != data_digest:
        raise RegistryError(
            f"The data of {protocol_path} changed while they were measured. Nothing "
            "was stored; evaluate again when their writer is done."
        )
    for name, folder in folders.items():
        if fingerprint(folder) != prints[name]:
            raise IntegrityError(
                f"Files of {folder} changed while it was measured. Nothing was stored; "
                "evaluate again when their writer is done."
            )
    evidence = Evidence(
        new_fingerprint=prints["new"],
        old_fingerprint=prints["old"],
        adapter_fingerprint=prints.get("adapter"),
        paragon_fingerprint=prints.get("paragon"),
        protocol=str(Path(protocol_path).absolute()),
        protocol_name=protocol.name,
        protocol_digest=protocol.digest(),
        data_digest=data_digest,
        distance=protocol.distance,
        first_components=protocol.first_components or mapped.embedding_size,
        answer=decision.answer,
        reasons=tuple(decision.reasons),
        seed=protocol.bootstrap.seed,
        metrics=_numbers(protocol, comparison),
        comparison=comparison.to_json(),
    )
    check_evidence(evidence)
    return evidence


def _embed(
    directory: Folder, queries: ImageRecords, gallery: ImageRecords | None
) -> tuple[EmbeddingSet, EmbeddingSet | None]:
    """Both sides by one model; it is let go before the next one is loaded."""
    from keras_bct.data.protocol_pictures import with_embeddings
    from keras_bct.models import load_embedder

    def embed(side: ImageRecords) -> EmbeddingSet:
        rows = embedder.embed_bytes(side.images, side.ids.tolist())
        return with_embeddings(side, rows)

    try:
        embedder = load_embedder(directory)
        return embed(queries), None if gallery is None else embed(gallery)
    except (ValueError, FileNotFoundError) as error:
        raise InvalidModelError(str(error)) from error


def _check_sizes(
    protocol: Protocol,
    queries: EmbeddingSet,
    gallery: EmbeddingSet,
    new_dir: str,
    old_dir: str,
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
