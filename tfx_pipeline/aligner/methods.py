"""The methods that a run can name for its map."""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from keras_bct import adapters
from keras_bct.adapters import OldToNew
from keras_bct.checked_choice import check_choice
from keras_bct.configuration import from_mapping
from tfx_pipeline.aligner.pairs import Pairs

FASTFILL = "FastFill"
METHODS: dict[str, type[adapters.Method]] = {
    method.__name__: method
    for method in (
        adapters.LambdaOrthogonal,
        adapters.LowRank,
        adapters.Procrustes,
        adapters.ResidualMLP,
        adapters.Ridge,
        adapters.ScaledRotation,
    )
}
"""Those of `keras_bct.adapters`; `FASTFILL` sees a classifier too."""


def check_method(method: str, settings: Mapping[str, Any]) -> None:
    """Raises before any work when a map cannot be fitted so.

    Raises:
        ValueError: An unknown method, or settings that it does not take.
    """
    if not isinstance(settings, Mapping):
        raise ValueError(
            f"`aligner.settings` should name what {method} is told, {{}} for nothing. "
            f"Received: {settings!r}."
        )
    if method == FASTFILL:
        _recipe(settings)
        return
    check_choice("aligner.method", method, [*METHODS, FASTFILL])
    try:
        METHODS[method](**settings)
    except TypeError as error:
        raise ValueError(
            f"`aligner.settings` should be those of {method}. Received: "
            f"{dict(settings)} ({error})."
        ) from error


def fit(
    method: str,
    settings: Mapping[str, Any],
    pairs: Pairs,
    directory: pathlib.Path,
) -> OldToNew:
    """Fits a map and writes it as an adapter.

    Args:
        method: Its name.
        settings: What it is told.
        pairs: Old and new embeddings of the same pictures.
        directory: Where the adapter goes.
    """
    versions = {
        "old_fingerprint": pairs.old_fingerprint,
        "new_fingerprint": pairs.new_fingerprint,
    }
    if method != FASTFILL:
        chosen = METHODS[method](**settings)
        if isinstance(chosen, adapters.LambdaOrthogonal):
            fitted = chosen.fit(pairs.old, pairs.new, labels=pairs.labels, **versions)
        else:
            fitted = chosen.fit(pairs.old, pairs.new, **versions)
        fitted.save(directory)
        return fitted
    # Keras takes seconds to import, and closed forms do without.
    from keras_bct.alignment import fit_alignment
    from keras_bct.alignment.export_alignment import export_alignment

    recipe = _recipe(settings)
    return export_alignment(
        directory,
        fit_alignment(
            recipe,
            pairs.old,
            pairs.new,
            labels=pairs.labels,
            classifier=pairs.classifier,
        ),
        pairs=len(pairs.old),
        settings=dataclasses.asdict(recipe),
        **versions,
    )


def _recipe(settings: Mapping[str, Any]) -> Any:
    from keras_bct.alignment import AlignmentRecipe

    return from_mapping(AlignmentRecipe, dict(settings), source="`aligner.settings`")
