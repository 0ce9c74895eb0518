"""Removing rows of a gallery: a new generation without them, and without a trace.

Segments are never changed. Those with rows to remove are written anew without them, the
manifest names the new ones, and then the old files go: what was removed cannot be read
any more, by an earlier generation either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from registry.errors import NotFoundError, RegistryError
from registry.galleries.gallery import Gallery
from registry.galleries.manifest import locked
from registry.galleries.segment import Segment, write_segment


def remove_rows(gallery: Gallery, ids: Sequence[str]) -> Gallery:
    """Removes the rows with these ids.

    Evidence that was measured on rows of the same versions is void from then on, and
    indices hold the rows until they are built anew.

    Args:
        gallery: Any generation of the gallery.
        ids: Names of rows.

    Returns:
        The new generation.

    Raises:
        NotFoundError: There is no row of one of them. Nothing was removed.
        IntegrityError: Files of the gallery are not what was written.
        RegistryError: The rest cannot be written; the message says whether rows were
            removed.
    """
    wanted = pa.array(sorted(set(ids)), pa.string())
    with locked(gallery.folder):
        current = Gallery.open(gallery.folder)
        # A removal that was killed may have left rows that nobody is told of any more;
        # repeated, it finds none to remove, but they go.
        current.remove_unnamed()
        current.check()
        missing = set(wanted.to_pylist()) - current.ids_held(wanted)
        if missing or not len(wanted):
            raise NotFoundError(
                f"`ids` should name rows of {gallery.folder}. Received "
                + (
                    f"{len(missing):,} that it does not have, such as "
                    f"{sorted(missing)[:3]}. Nothing was removed."
                    if missing
                    else "none."
                )
            )
        generation = current.generation + 1
        kept: list[Segment] = []
        try:
            for segment in current.segments:
                kept += _without(current, segment, wanted, generation, len(kept))
            after = current.following(tuple(kept), oldest=generation)
        except OSError as error:
            why = error.strerror or error
            raise RegistryError(
                f"{gallery.folder} could not be written without the rows: {why}. "
                "Nothing was removed."
                if current.clear_after_failure()
                else f"{gallery.folder} is without the rows, but the disk does not "
                f"confirm it: {why}. Until it does a power cut may bring them back."
            ) from error
        # Only now that nobody is told of them.
        after.remove_unnamed()
        return after


def _without(
    gallery: Gallery, segment: Segment, ids: pa.Array, generation: int, number: int
) -> list[Segment]:
    """The segment as it is, or what is left of it, by the version that made it."""
    table = segment.map(gallery.folder)
    if not pc.any(pc.is_in(table.column("id"), value_set=ids)).as_py():
        return [segment]
    parts: list[Segment] = []
    for made_by in segment.fingerprints:
        name = f"segment-{generation:06d}-{number + len(parts):04d}.arrow"
        part = write_segment(
            gallery.folder / name,
            _left(table, ids, made_by),
            segment.embedding_size,
            made_by,
            generation,
        )
        # One without rows is not named, and goes with the old files.
        if part.rows:
            parts.append(replace(part, unchecked=segment.unchecked))
    return parts


def _left(table: pa.Table, ids: pa.Array, made_by: str) -> Iterator[pa.RecordBatch]:
    """What stays of a version's rows; a batch at a time, as a segment can be large."""
    for batch in table.to_batches():
        mine = pc.equal(batch.column("fingerprint").cast(pa.string()), made_by)
        goes = pc.is_in(batch.column("id"), value_set=ids)
        yield batch.filter(pc.and_not(mine, goes))
