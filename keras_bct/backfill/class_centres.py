"""The centres of classes, gathered in blocks, and how far items are from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import embedding_rows, finite_blocks
from keras_bct.backfill.distance import Floats, rowwise_distance
from keras_bct.checked_labels import Labels, label_array


@dataclass(frozen=True, eq=False)
class ClassCentres:
    """The mean raw embedding of each class.

    Attributes:
        class_names: Sorted.
        centres: `(classes, d)` float64, row c belongs to `class_names[c]`.
    """

    class_names: tuple[str, ...]
    centres: Floats

    @classmethod
    def gather(cls, blocks: Iterable[tuple[NDArray[Any], Labels]]) -> ClassCentres:
        """See every embedding once; keep a sum for each class.

        Items are added one by one in their order, so the centres do not depend on how
        blocks are cut, to the last bit.

        Args:
            blocks: Gives `(b, d)` embeddings and b class names, any b.

        Raises:
            ValueError: No item, shapes that do not fit, a label that is missing, NaN
                or infinity, or a class whose sum float64 cannot hold.
            TypeError: No floating type.

        Example:
            >>> found = ClassCentres.gather(
            ...     [(np.array([[1.0], [4.0]]), ["a", "b"]), (np.array([[3.0]]), ["a"])]
            ... )
            >>> found.class_names, found.centres.tolist()
            (('a', 'b'), [[2.0], [4.0]])
        """
        sums: dict[str, Floats] = {}
        counts: dict[str, int] = {}
        size: int | None = None
        for embeddings, labels in blocks:
            rows = embedding_rows("embeddings", embeddings, size)
            names = label_array(labels, len(rows))
            size = rows.shape[1]
            for block in finite_blocks("embeddings", rows):
                present, of_class = np.unique(names[block], return_inverse=True)
                classes = present.tolist()
                totals = np.stack([sums.get(name, np.zeros(size)) for name in classes])
                with np.errstate(over="ignore"):
                    np.add.at(totals, of_class, rows[block].astype(np.float64))
                amounts = np.bincount(of_class).tolist()
                for name, amount, total in zip(classes, amounts, totals, strict=True):
                    # A copy: a view would keep the whole block's totals.
                    sums[name] = total.copy()
                    counts[name] = counts.get(name, 0) + amount
        if not sums:
            raise ValueError("`blocks` should give at least one item. Received none.")
        class_names = tuple(sorted(sums))
        for name in class_names:
            if not np.isfinite(sums[name]).all():
                raise ValueError(
                    "`blocks` should give embeddings small enough for float64 to hold "
                    f"the sum of a class. Received: larger ones of class {name!r}."
                )
        return cls(
            class_names, np.stack([sums[name] / counts[name] for name in class_names])
        )

    def rows_of(self, labels: Labels, items: int) -> NDArray[np.int64]:
        """The row of each item's class.

        Args:
            labels: A class name for each item.
            items: How many items there are.

        Raises:
            ValueError: Another number of labels, one that is missing, or a class
                without a centre.
        """
        names = label_array(labels, items)
        known = np.array(self.class_names)
        rows = np.searchsorted(known, names).clip(0, len(known) - 1)
        unknown = known[rows] != names
        if unknown.any():
            raise ValueError(
                "`labels` should name classes that have a centre. Received: "
                f"{str(names[unknown][0])!r} and {int(unknown.sum()) - 1} more; gather "
                "centres over the whole gallery first."
            )
        return np.asarray(rows, dtype=np.int64)


def distance_to_class_mean(
    embeddings: NDArray[Any],
    labels: Labels,
    centres: ClassCentres,
    *,
    distance: str = "l2",
) -> Floats:
    """How far each item is from the mean of its class: the farthest are worst.

    The mean holds the item itself, as in the paper: it is an order and no measurement.
    Of a class of n items the l2 distance is (n - 1) / n of that to the mean of the
    others, and an item that is alone in its class comes last.

    Args:
        embeddings: `(n, d)`, a block or all, in the space of the centres.
        labels: n class names.
        centres: Of all classes, over the whole gallery.
        distance: `l2` or `cosine`.

    Returns:
        `(n,)` float64.

    Raises:
        ValueError: A label that is missing, a class without a centre, shapes that do
            not fit, NaN or infinity, an unknown distance, a distance that float64
            cannot hold, or a zero row with `cosine`.
        TypeError: No floating type.

    Example:
        >>> rows, labels = np.array([[1.0], [4.0], [3.0]]), ["a", "b", "a"]
        >>> centres = ClassCentres.gather([(rows, labels)])
        >>> distance_to_class_mean(rows, labels, centres).tolist()
        [1.0, 0.0, 1.0]

    References:
        The order of the lambda-orthogonality paper, NeurIPS 2025.
    """
    rows = centres.rows_of(labels, len(embeddings))
    return rowwise_distance(
        "embeddings", embeddings, "centres", centres.centres, distance, rows
    )
