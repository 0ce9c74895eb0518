"""Trains one version from a recipe and exports it."""

import os
import time
from collections.abc import Sequence

import keras
import numpy as np

from keras_bct import data, layers, losses, models
from keras_bct.classifier import Classifier, synthesize
from keras_bct.experiments.recipe import Recipe


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
    along a cosine.

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
    if recipe.method != "independent" and predecessor is None:
        raise ValueError(
            f"method {recipe.method!r} trains against a predecessor. Received: "
            "predecessor=None; train the first version with method 'independent'"
        )
    records = data.read_records(patterns, compression=compression)
    class_names = tuple(sorted(set(records.labels)))
    old_classifier = None
    if recipe.method != "independent":
        assert predecessor is not None
        old_classifier = Classifier.load(os.path.join(predecessor, "assets.extra"))
    if recipe.method == "beta-sys":
        assert predecessor is not None and old_classifier is not None
        unseen = np.flatnonzero(~np.isin(records.labels, old_classifier.class_names))
        embeddings = models.load_embedder(predecessor).embed_bytes(
            [records.images[i] for i in unseen], records.ids[unseen].tolist()
        )
        old_classifier = synthesize(
            old_classifier, embeddings, records.labels[unseen].tolist()
        )

    keras.utils.set_random_seed(recipe.seed)
    backbone = models.glyph_network(
        recipe.embedding_size,
        recipe.width,
        image_shape=recipe.image_shape,
        seed=recipe.seed,
    )
    head = layers.CosineHead(len(class_names), seed=recipe.seed)
    model = models.compatible_model(backbone, head, old_classifier)
    warm_up = max(1, recipe.steps // 20)
    loss: dict[str, losses.ClassifierLoss | losses.Influence] = {
        "new": losses.CosFace(scale=recipe.scale, margin=recipe.margin)
    }
    if old_classifier is not None:
        loss["old"] = losses.Influence(losses.for_classifier(old_classifier))
    model.compile(
        optimizer=keras.optimizers.AdamW(
            keras.optimizers.schedules.CosineDecay(
                recipe.learning_rate / 100,
                decay_steps=recipe.steps - warm_up,
                warmup_target=recipe.learning_rate,
                warmup_steps=warm_up,
            ),
        ),
        loss=loss,
        loss_weights={"new": 1.0, "old": recipe.influence_weight}
        if old_classifier is not None
        else None,
        # What Keras calls "auto" is XLA, which takes twice as long on a CPU.
        jit_compile=False,
    )
    started = time.monotonic()
    history = model.fit(
        data.training_dataset(
            patterns,
            class_names=class_names,
            old_class_names=old_classifier.class_names if old_classifier else None,
            image_shape=recipe.image_shape,
            batch_size=recipe.batch_size,
            seed=recipe.seed,
            compression=compression,
        ),
        # Ten epochs of the schedule, so that there is progress to see.
        epochs=10,
        steps_per_epoch=max(1, recipe.steps // 10),
        verbose=2,
        callbacks=[keras.callbacks.TensorBoard(log_directory)] if log_directory else [],
    )
    models.export_version(
        directory,
        backbone,
        head.to_classifier(loss["new"], class_names),
        training={
            "recipe": recipe.method,
            "steps": recipe.steps,
            "seconds": round(time.monotonic() - started, 1),
            "loss": history.history["loss"][-1],
        },
    )
