"""RACT's uncertainties: how unsure the class of an item is among the class centres."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import embedding_rows, finite_blocks
from keras_bct.backfill.distance import Floats, unit_rows
from keras_bct.checked_numbers import finite_number

UNCERTAINTIES = ("least_confidence", "margin", "entropy")
"""The three of the paper; each is higher for items that are less sure."""

# Products of two multiples of 2^-26 are multiples of 2^-52, and so are their sums,
# which float64 holds exactly below 2, whatever the order of the terms.
_GRID = 2.0**26


def uncertainty(
    embeddings: NDArray[Any],
    centres: NDArray[Any],
    kind: str = "entropy",
    *,
    temperature: float = 0.05,
) -> Floats:
    """Give the uncertainty of items; labels are not needed.

    With p the softmax of the cosines to all centres over the temperature, p1 and p2
    its two highest: `least_confidence = 1 - p1`, `margin = 1 - (p1 - p2)`,
    `entropy = - sum p log p`, in nats.

    Equal items get equal uncertainties, to the last bit, wherever they stand and
    however the gallery is cut. For this the components of directions are rounded to
    multiples of 2^-26, which moves a cosine by sqrt(d) 2^-26 at most.

    Args:
        embeddings: `(n, d)`, a block or all.
        centres: `(classes, d)`, at least two: class means or classifier weights in the
            same space.
        kind: One of `UNCERTAINTIES`.
        temperature: What cosines are divided by, above zero.

    Returns:
        `(n,)` float64.

    Raises:
        ValueError: Shapes that do not fit, one class alone, NaN or infinity, a zero
            row, an unknown kind, or a temperature that is not above zero.
        TypeError: No floating type.

    Example:
        >>> rows = np.array([[1.0, 0.0], [1.0, 1.0]])
        >>> uncertainty(rows, np.eye(2), "margin", temperature=1.0).round(4).tolist()
        [0.5379, 1.0]

    References:
        Zhang et al., Hot-Refresh Model Upgrades with Regression-Alleviating
        Compatible Training in Image Retrieval (RACT), ICLR 2022. The temperature's
        default is ours.
    """
    if kind not in UNCERTAINTIES:
        raise ValueError(
            f"`kind` should be one of {', '.join(UNCERTAINTIES)}. Received: {kind!r}."
        )
    temperature = finite_number("temperature", temperature)
    rows = embedding_rows("embeddings", embeddings)
    centres = embedding_rows("centres", centres, rows.shape[1])
    if len(centres) < 2:
        raise ValueError(
            "`centres` should have at least two rows: of one class nothing is unsure. "
            f"Received: {len(centres)}."
        )
    list(finite_blocks("centres", centres))
    directions = _on_grid("centres", centres)
    result = np.empty(len(rows))
    for block in finite_blocks("embeddings", rows):
        unit = _on_grid("embeddings", rows[block], block.start)
        cosines = unit @ directions.T
        # The highest is taken off first: what is left does not overflow.
        cosines -= cosines.max(axis=1, keepdims=True)
        result[block] = _of_logits(cosines / temperature, kind)
    return result


def _on_grid(name: str, rows: NDArray[Any], start: int = 0) -> Floats:
    """Directions, so rounded that BLAS has nothing left to round in their cosines.

    What it rounds depends on the shape of the block and on a row's place in it.
    """
    unit = unit_rows(name, rows.astype(np.float64, order="C"), start)
    return np.asarray(np.rint(unit * _GRID) / _GRID)


def _of_logits(logits: Floats, kind: str) -> Floats:
    """Of logits whose highest is 0."""
    weights = np.exp(logits)
    total = weights.sum(axis=1)
    if kind == "entropy":
        # log(total) - E[logit]: no logarithm of a probability that became zero.
        return np.asarray(np.log(total) - (weights * logits).sum(axis=1) / total)
    first_two = np.partition(weights, -2, axis=1)[:, -2:]
    # The highest weight is exactly 1; what is left is summed, not subtracted, so that
    # sure items keep an order among themselves.
    rest = np.partition(weights, -1, axis=1)[:, :-1].sum(axis=1)
    if kind == "least_confidence":
        return np.asarray(rest / total)
    return np.asarray((rest + first_two[:, 0]) / total)
