"""Who takes part in a measurement: items with a label, less the junk.

Of an item without a label nobody knows to whom it belongs. As a mate it would be a
guess, and as an impostor or a distractor another one: so it is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.text_column import MISSING

JUNK_LABEL = "-1"
"""The label of items that count neither for nor against (as in Market-1501)."""


def takes_part(
    name: str, items: EmbeddingSet, exclude: Sequence[str]
) -> npt.NDArray[np.bool_]:
    """(n,) whether each item takes part.

    Args:
        name: The caller's name of the items.
        items: n items.
        exclude: What the protocol excludes; `junk` concerns items.

    Raises:
        ValueError: None does.
    """
    labelled = np.asarray(items.labels != MISSING)
    if not labelled.any():
        raise ValueError(
            f"`{name}` should hold items with a label. Received: {len(items)} items, "
            "none of them with one."
        )
    if "junk" not in exclude:
        return labelled
    people = np.asarray(items.labels != JUNK_LABEL)
    if not (labelled & people).any():
        raise ValueError(
            f"`{name}` should hold items that are not junk (label {JUNK_LABEL!r}). "
            f"Received: {len(items)} items, all junk or without a label."
        )
    return np.asarray(labelled & people)


def only(items: EmbeddingSet, kept: npt.NDArray[np.bool_]) -> EmbeddingSet:
    """The kept items; the very set where all are, whose rows may lie on a disk."""
    return items if kept.all() else items.take(kept)


def without_label(**sides: EmbeddingSet) -> dict[str, int]:
    """Counts the items that have no label, as `<side>_without_label`.

    Example:
        >>> items = EmbeddingSet(["a", "b"], ["x", None], None, np.eye(2))
        >>> without_label(queries=items)
        {'queries_without_label': 1}
    """
    return {
        f"{name}_without_label": int((items.labels == MISSING).sum())
        for name, items in sides.items()
    }


def label_warnings(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Says how many items were left out, where there are any.

    Args:
        counts: What `without_label` gave, and others.
    """
    return tuple(
        f"{count:,} items of the {name.removesuffix('_without_label')} have no label "
        "and were left out."
        for name, count in counts.items()
        if name.endswith("_without_label") and count
    )
