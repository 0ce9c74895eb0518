"""The trained alignment model as an adapter: a SavedModel and its description."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bct.adapters import OldToNew, SavedModelMap
from keras_bct.models.alignment_model import AlignmentModel


def export_alignment(
    directory: str | os.PathLike[str],
    model: AlignmentModel,
    *,
    old_fingerprint: str,
    new_fingerprint: str,
    pairs: int,
    method: str = "FastFill",
    settings: Mapping[str, Any] | None = None,
) -> OldToNew:
    """Write an alignment model as an adapter and give it as `load_adapter` would.

    The SavedModel has the signature `transform`: `old_embedding` `(batch, d_old)`
    and, where the map was trained with it, `side_information` `(batch, d_s)`, to
    `embedding` `(batch, d_new)` and, with an uncertainty head, `log_variance`
    `(batch, variances)`; all float32. The new model's classifier stays behind.

    Args:
        directory: Where the adapter goes; files of the same names are replaced,
            `saved_model.pb` last.
        model: Trained.
        old_fingerprint: Of the version that made the old embeddings.
        new_fingerprint: Of the version that made the new ones.
        pairs: How many pairs the model was trained on.
        method: What trained it.
        settings: What the method was told, plain values by name.

    Returns:
        The adapter, read back from `directory`.

    Raises:
        ValueError: The model was never called, a weight is not finite, or the
            fingerprints do not name two versions.
    """
    if not model.built:
        raise ValueError(
            "`model` should be trained, or called once, so that its sizes are known. "
            "Received: a model without weights."
        )
    for weight in model.weights:
        if not tf.reduce_all(tf.math.is_finite(weight.value)):
            raise ValueError(
                "`model` should have finite weights. Received NaN or infinity in "
                f"{weight.path!r}: the training diverged; lower the learning rate."
            )
    with tempfile.TemporaryDirectory() as scratch:
        _write(scratch, model)
        OldToNew(
            map=SavedModelMap.load(Path(scratch)),
            old_fingerprint=old_fingerprint,
            new_fingerprint=new_fingerprint,
            method=method,
            pairs=pairs,
            settings=dict(settings or {}),
        ).save(Path(directory))
    return OldToNew.load(Path(directory))


def _write(directory: str, model: AlignmentModel) -> None:
    sizes = model.input_sizes

    def transform(*tensors: Any) -> dict[str, Any]:
        return model.aligned(dict(zip(sizes, tensors, strict=True)))

    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint(
        "transform",
        transform,
        input_signature=[
            tf.TensorSpec([None, size], tf.float32, name)
            for name, size in sizes.items()
        ],
    )
    archive.write_out(directory, verbose=False)
