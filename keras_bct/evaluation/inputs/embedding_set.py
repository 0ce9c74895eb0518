"""A set of embeddings with the names that evaluation needs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.text_column import text_column

_ROWS_PER_CHECK = 65536


@dataclasses.dataclass(frozen=True, eq=False)
class EmbeddingSet:
    """One side of a protocol: n items with ids, labels and raw embeddings.

    Everything is checked on construction, so that whoever holds a set can use it.
    Columns of names may be of any type that `text_column` turns into text. What is
    missing in one (None, NaN, null) is `""`, the name of nothing: no two items share
    it.

    Attributes:
        ids: (n,) strings, each one once; none is missing.
        labels: (n,) strings: the class, person or object that the item shows.
        cameras: (n,) strings or None.
        embeddings: (n, d) float32, raw model output (cosine normalises at use). A
            memory-mapped float32 array stays memory-mapped; float16 and float64
            are converted.
        templates: (n,) strings or None: items of one template are pooled.
        media: (n,) strings or None: frames of one video carry one medium.
        qualities: (n,) float32 or None: non-negative weights for pooling.

    Raises:
        ValueError: no item, lengths that differ, an embedding that is not
            two-dimensional, is not of a floating type, or holds NaN or infinity,
            an id that is missing or occurs twice, or a name that is no text.

    Example:
        >>> items = EmbeddingSet(["a", "b"], ["x", None], None, np.eye(2))
        >>> items.labels.tolist(), items.embeddings.dtype
        (['x', ''], dtype('float32'))
    """

    ids: npt.NDArray[np.str_]
    labels: npt.NDArray[np.str_]
    cameras: npt.NDArray[np.str_] | None
    embeddings: npt.NDArray[np.float32]
    templates: npt.NDArray[np.str_] | None = None
    media: npt.NDArray[np.str_] | None = None
    qualities: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Brings every column to its type and checks it."""
        embeddings = float32_rows("embeddings", self.embeddings)
        rows = len(embeddings)
        if rows == 0:
            raise ValueError("`embeddings` should hold at least one item. Received: 0.")
        object.__setattr__(self, "embeddings", embeddings)
        for name in ("ids", "labels", "cameras", "templates", "media"):
            column = getattr(self, name)
            if column is None and name not in ("ids", "labels"):
                continue
            text = text_column(name, column, required=name == "ids")
            if len(text) != rows:
                raise ValueError(
                    f"`{name}` should hold one value per embedding, so {rows}. "
                    f"Received: {len(text)}."
                )
            object.__setattr__(self, name, text)
        if self.qualities is not None:
            object.__setattr__(self, "qualities", _weights(self.qualities, rows))
        unique, counts = np.unique(self.ids, return_counts=True)
        if len(unique) < rows:
            raise ValueError(
                "`ids` should name every item once. Received: "
                f"{str(unique[counts > 1][0])!r} {counts.max()} times."
            )
        refuse_not_finite("embeddings", embeddings, self.ids)

    def __len__(self) -> int:
        """The number of items."""
        return len(self.ids)

    @property
    def embedding_size(self) -> int:
        """d, the number of components of an embedding."""
        return int(self.embeddings.shape[1])

    def take(self, rows: npt.NDArray[Any]) -> EmbeddingSet:
        """The set of the given rows: an (m,) array of indices or an (n,) mask."""

        def of(column: Any) -> Any:
            return None if column is None else column[rows]

        return EmbeddingSet(
            **{
                field.name: of(getattr(self, field.name))
                for field in dataclasses.fields(self)
            }
        )


def check_same_items(
    name: str, given: EmbeddingSet, other_name: str, other: EmbeddingSet
) -> None:
    """Refuse sets that do not hold the same items in the same order.

    Args:
        name: The caller's name of the first.
        given: The first.
        other_name: The caller's name of the second.
        other: The second.

    Raises:
        ValueError: Their ids or labels differ.
    """
    for column in ("ids", "labels"):
        left, right = getattr(given, column), getattr(other, column)
        if len(left) != len(right):
            raise ValueError(
                f"`{name}` should hold the items of `{other_name}`. Received "
                f"{len(left)} items, expected {len(right)}."
            )
        differ = np.flatnonzero(left != right)
        if len(differ):
            row = differ[0]
            raise ValueError(
                f"`{name}` should hold the items of `{other_name}` in the same order. "
                f"Received {column}[{row}] = {str(left[row])!r}, expected "
                f"{str(right[row])!r}."
            )


def float32_rows(name: str, rows: Any) -> npt.NDArray[np.float32]:
    """Check shape and type; a float32 array stays where it is.

    Args:
        name: The caller's name of the argument.
        rows: Should be (n, d) of a floating type.

    Raises:
        ValueError: Another shape or type.
    """
    array = rows if isinstance(rows, np.ndarray) else np.asarray(rows)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            f"`{name}` should have shape (items, components). "
            f"Received: shape {array.shape}."
        )
    if array.dtype.kind != "f":
        raise ValueError(
            f"`{name}` should be of a floating type. Received: dtype {array.dtype}."
        )
    return array if array.dtype == np.float32 else array.astype(np.float32)


def refuse_not_finite(name: str, rows: npt.NDArray[np.float32], ids: Any) -> None:
    """Refuse NaN and infinity.

    Args:
        name: The caller's name of the argument.
        rows: (n, d) float32.
        ids: (n,) what the message calls the rows.

    Raises:
        ValueError: A component is not finite.
    """
    for start in range(0, len(rows), _ROWS_PER_CHECK):
        block = rows[start : start + _ROWS_PER_CHECK]
        # A sum is NaN or infinite when a component is; only then look closer.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(block.sum())
        if not suspicious:
            continue
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(bad):
            raise ValueError(
                f"`{name}` should be finite. Received: NaN or infinity for id "
                f"{str(ids[start + bad[0]])!r} and {len(bad) - 1} more in its block "
                "of rows."
            )


def _weights(qualities: Any, rows: int) -> npt.NDArray[np.float32]:
    try:
        weights = np.asarray(qualities).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`qualities` should be {rows} numbers, none of them missing. "
            f"Received: {error}."
        ) from error
    if weights.shape != (rows,):
        raise ValueError(
            f"`qualities` should be {rows} numbers. Received: shape {weights.shape}."
        )
    # NaN compares as false.
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        raise ValueError(
            "`qualities` should be finite and not negative. Received: "
            f"{weights[wrong[0]]} in row {wrong[0]} (counted from 0)."
        )
    return weights
