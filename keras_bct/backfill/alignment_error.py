"""FastFill's "cheating" order: by the alignment loss that the backfill would undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import (
    BLOCK_ROWS,
    embedding_rows,
    refuse_not_finite,
    refuse_overflow,
)
from keras_bct.backfill.distance import Floats
from keras_bct.checked_labels import label_array
from keras_bct.classifier import Classifier


def alignment_error(
    mapped: NDArray[Any],
    new: NDArray[Any],
    labels: Sequence[str] | NDArray[np.str_],
    classifier: Classifier,
    *,
    components: str,
    discriminative_weight: float = 1.0,
    **loss_options: Any,
) -> Floats:
    """Oracle: `L_l2 + L_disc` of each item, without sigma.

    It needs what the backfill is to save, the labels, and the new model's classifier,
    so it serves to judge other orders: the paper's has Kendall's tau 0.67 with it.
    Keras is imported here: the losses are those of `keras_bct.losses.Alignment`. They
    are computed in float64 and given to the precision of float32, so that equal items
    get equal errors: the last bits that Keras gives depend on an item's place.

    Args:
        mapped: `(n, d)` old embeddings in the new space.
        new: `(n, d)` new embeddings of the same items.
        labels: n class names; a class that the classifier lacks has L_l2 alone.
        classifier: The new model's own.
        components: `sum` (the paper) or `mean` (the authors' code) of the squared
            errors; it weighs L_l2 against L_disc by d.
        discriminative_weight: Of L_disc, as in training.
        **loss_options: Of `keras_bct.losses.for_classifier`, as in training.

    Returns:
        `(n,)` float64, rounded to float32.

    Raises:
        ValueError: Shapes that do not fit, NaN or infinity, a label that is missing,
            no label known to the classifier, or what the losses refuse.
        TypeError: No floating type.

    References:
        Jaeckle et al., FastFill, ICLR 2023, equation 3 and section 4.
    """
    sides = [
        embedding_rows(name, rows, classifier.embedding_size)
        for name, rows in (("mapped", mapped), ("new", new))
    ]
    if len(mapped) != len(new):
        raise ValueError(
            "`mapped` and `new` should hold the same items in the same order. "
            f"Received: {len(mapped)} and {len(new)} rows."
        )
    names = label_array(labels, len(mapped))
    if len(names) and not np.isin(names, classifier.class_names).any():
        raise ValueError(
            "`labels` should name classes of `classifier`. Received: "
            f"{str(names[0])!r} and others, none of which it has."
        )
    codes = classifier.labels(names)

    from keras_bct.layers.frozen_classifier import FrozenClassifier
    from keras_bct.losses.alignment import Alignment
    from keras_bct.losses.feature_alignment import FeatureAlignment
    from keras_bct.losses.for_classifier import for_classifier

    loss = Alignment(
        FeatureAlignment(components),
        for_classifier(classifier, **loss_options),
        discriminative_weight=discriminative_weight,
    )
    frozen = FrozenClassifier(classifier, dtype="float64")
    errors = np.empty(len(mapped), np.float32)
    for start in range(0, len(mapped), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        rows = [side[block].astype(np.float64) for side in sides]
        for name, side in zip(("mapped", "new"), rows, strict=True):
            refuse_not_finite(name, side, start)
        errors[block] = loss.call(
            {"embedding": rows[1], "label": codes[block]},
            {"embedding": rows[0], "classes": frozen(rows[0])},
        )
        refuse_overflow("mapped", errors[block], start)
    return errors.astype(np.float64)
