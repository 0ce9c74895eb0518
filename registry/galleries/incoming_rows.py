"""What a gallery accepts: checked before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keras_bct.counted import counted
from keras_bct.text_column import MISSING, text_column
from registry.errors import InvalidGalleryError
from registry.galleries.rows import Floats


def check_rows(
    embedding_size: int,
    ids: Sequence[str],
    embeddings: npt.ArrayLike,
    labels: Sequence[str | None] | None = None,
    cameras: Sequence[str | None] | None = None,
) -> tuple[dict[str, pa.Array], Floats]:
    """Columns and embeddings as a gallery stores them.

    Raises:
        InvalidGalleryError: No rows, an id that is missing or there twice, another
            width, NaN or infinity.
    """
    vectors = _check_vectors(embeddings, ids, embedding_size)
    columns = {"id": _strings("ids", ids, len(vectors))}
    refuse_duplicates(columns["id"].to_pylist())
    for name, values in (("label", labels), ("camera", cameras)):
        columns[name] = (
            pa.nulls(len(vectors), pa.string())
            if values is None
            else _strings(f"{name}s", values, len(vectors))
        )
    return columns, vectors


def _check_vectors(embeddings: npt.ArrayLike, ids: Sequence[str], size: int) -> Floats:
    vectors = np.asarray(embeddings)
    if vectors.ndim != 2 or not len(vectors) or vectors.dtype.kind != "f":
        raise InvalidGalleryError(
            "`embeddings` should be floating, of shape (rows, components), with at "
            f"least one row. Received: {vectors.dtype} {vectors.shape}."
        )
    if vectors.shape[1] != size:
        raise InvalidGalleryError(
            f"Embeddings of this gallery have {counted(size, 'component')}. Received: "
            f"{vectors.shape[1]}. A version with more of them is compared by its first "
            f"{size} (`first_components`); one with fewer needs its own gallery."
        )
    if len(ids) != len(vectors):
        raise InvalidGalleryError(
            f"`ids` should name each of the {len(vectors)} rows. Received: {len(ids)}."
        )
    with np.errstate(over="ignore"):
        vectors = vectors.astype(np.float32, copy=False)
    for start in range(0, len(vectors), 65536):
        finite = np.isfinite(vectors[start : start + 65536]).all(axis=1)
        if not finite.all():
            row = start + int(np.flatnonzero(~finite)[0])
            raise InvalidGalleryError(
                f"Embeddings should be finite in float32. Received NaN or infinity for "
                f"id {str(ids[row])!r}. Nothing was appended."
            )
    return vectors


def _strings(argument: str, values: Any, rows: int) -> pa.Array:
    """A column as it is stored: null where a value is missing."""
    try:
        text = text_column(argument, values, required=argument == "ids")
        column = pa.array(text, pa.string(), mask=text == MISSING)
    except ValueError as error:
        raise InvalidGalleryError(f"{error} Nothing was appended.") from error
    if len(column) != rows:
        raise InvalidGalleryError(
            f"`{argument}` should have one value for each of the {rows} rows. "
            f"Received: {len(column)}."
        )
    return column


def refuse_duplicates(ids: Sequence[str]) -> None:
    """Raises InvalidGalleryError when an id is there twice."""
    counts = Counter(ids)
    if len(counts) < len(ids):
        name, times = counts.most_common(1)[0]
        raise InvalidGalleryError(
            f"`ids` should name each row once. Received {name!r} {times} times. "
            "Nothing was appended."
        )
