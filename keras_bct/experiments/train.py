"""Trains one version from a recipe and exports it."""

import os
import time
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_bct import data, layers, losses, models
from keras_bct.classifier import Classifier, synthesize
from keras_bct.experiments.deep_glyph_network import deep_glyph_network
from keras_bct.experiments.recipe import Recipe
from keras_bct.experiments.terms import terms

SIZE_MAP = "size_map.npy"
"""In `assets.extra` of a version with a learned linear map, `(d, d_old)` float32."""


def train(
    recipe: Recipe,
    patterns: Sequence[str],
    directory: str,
    *,
    predecessor: str | None = None,
    compression: str | None = None,
    log_directory: str | None = None,
) -> None:
    """Trains a version on TFRecords and writes it as a SavedModel.

    The learning rate rises over the first twentieth of the steps and falls to zero
    along a cosine. The methods that need old embeddings run the old model, frozen, on
    the same augmented batch.

    Args:
        recipe: How to train.
        patterns: TFRecord patterns of the training pictures; their labels are the
            classes, in the order of their names.
        directory: Where the SavedModel goes.
        predecessor: Directory of the version to be compatible with; needed by every
            method but `independent`, which ignores it.
        compression: `GZIP` for the shards that TFX writes, or None.
        log_directory: Where TensorBoard scalars go, or None.

    Raises:
        ValueError: The method needs a predecessor and there is none, there are no
            pictures, or they have one class only.
    """
    if recipe.method == "independent":
        predecessor = None
    elif predecessor is None:
        raise ValueError(
            f"method {recipe.method!r} trains against a predecessor. Received: "
            "predecessor=None; train the first version with method 'independent'"
        )
    records = data.read_records(patterns, compression=compression)
    class_names = tuple(sorted(set(records.labels)))
    old = None if predecessor is None else _old_classifier(recipe, predecessor, records)

    keras.utils.set_random_seed(recipe.seed)
    backbone = _backbone(recipe)
    loss = _classifier_loss(recipe)
    head_type = (
        layers.LinearHead if isinstance(loss, losses.Softmax) else layers.CosineHead
    )
    head = head_type(len(class_names), seed=recipe.seed)
    size_map = None
    if recipe.size_map and old is not None:
        size_map = keras.layers.Dense(
            old.embedding_size,
            use_bias=False,
            kernel_initializer=keras.initializers.GlorotUniform(seed=recipe.seed),
            name="size_map",
        )
    beside = () if old is None else terms(recipe, old)
    outputs = {term.output for term in beside}
    old_model = None
    if predecessor is not None and outputs - {"old"}:
        old_model = models.FrozenEmbedder(predecessor)
    model = models.compatible_model(
        backbone,
        head,
        old if "old" in outputs else None,
        terms=sorted(outputs - {"old"}),
        old_model=old_model,
        size_map=size_map,
    )
    warm_up = max(1, recipe.steps // 20)
    model.compile(
        optimizer=keras.optimizers.AdamW(
            keras.optimizers.schedules.CosineDecay(
                recipe.learning_rate / 100,
                decay_steps=recipe.steps - warm_up,
                warmup_target=recipe.learning_rate,
                warmup_steps=warm_up,
            ),
        ),
        loss={"new": loss, **{term.output: term.loss for term in beside}},
        loss_weights={"new": 1.0, **{term.output: term.weight for term in beside}},
        # What Keras calls "auto" is XLA, which takes twice as long on a CPU.
        jit_compile=False,
    )
    batches = data.training_dataset(
        patterns,
        class_names=class_names,
        old_class_names=None if old is None else old.class_names,
        image_shape=recipe.image_shape,
        batch_size=recipe.batch_size,
        seed=recipe.seed,
        compression=compression,
    )

    def with_labels(images: Any, labels: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        of_terms = {term.output: term.labels(labels) for term in beside}
        return images, {"new": labels["new"], **of_terms}

    started = time.monotonic()
    history = model.fit(
        batches.map(with_labels),
        # Ten epochs of the schedule, so that there is progress to see.
        epochs=10,
        steps_per_epoch=max(1, recipe.steps // 10),
        verbose=2,
        callbacks=[keras.callbacks.TensorBoard(log_directory)] if log_directory else [],
    )
    models.export_version(
        directory,
        backbone,
        head.to_classifier(loss, class_names),
        training={
            "recipe": recipe.method,
            "steps": recipe.steps,
            "seconds": round(time.monotonic() - started, 1),
            "loss": history.history["loss"][-1],
        },
    )
    if size_map is not None:
        np.save(
            os.path.join(directory, "assets.extra", SIZE_MAP),
            keras.ops.convert_to_numpy(size_map.kernel),
            allow_pickle=False,
        )


def _old_classifier(
    recipe: Recipe, predecessor: str, records: data.ImageRecords
) -> Classifier:
    """Gives the predecessor's classifier with the rows that the recipe asks for."""
    old = Classifier.load(os.path.join(predecessor, "assets.extra"))
    known = np.isin(records.labels, old.class_names)
    means = recipe.old_rows == "means"
    needed = np.zeros(len(records), bool)
    if means:
        needed |= known
    if recipe.method == "beta-sys":
        needed |= ~known
    if not needed.any():
        return old
    rows = np.flatnonzero(needed)
    embeddings = models.load_embedder(predecessor).embed_bytes(
        [records.images[row] for row in rows], records.ids[rows].tolist()
    )
    labels = records.labels[rows]
    if not means:
        return synthesize(old, embeddings, labels.tolist())
    names = sorted(set(labels.tolist()))
    return Classifier(
        "cosface",
        np.stack([embeddings[labels == name].mean(axis=0) for name in names]),
        tuple(names),
        scale=recipe.scale,
        margin=recipe.margin,
    )


def _backbone(recipe: Recipe) -> keras.Model:
    networks = {"glyph": models.glyph_network, "deep-glyph": deep_glyph_network}
    backbone = networks[recipe.backbone](
        recipe.embedding_size,
        recipe.width,
        image_shape=recipe.image_shape,
        seed=recipe.seed,
    )
    if recipe.relu:
        backbone = keras.Model(
            backbone.inputs[0], keras.layers.ReLU()(backbone.outputs[0])
        )
    return backbone


def _classifier_loss(recipe: Recipe) -> losses.ClassifierLoss:
    if recipe.loss == "softmax":
        return losses.Softmax()
    if recipe.loss == "normsoftmax":
        return losses.NormSoftmax(scale=recipe.scale)
    with_margin = losses.ArcFace if recipe.loss == "arcface" else losses.CosFace
    return with_margin(scale=recipe.scale, margin=recipe.margin)
