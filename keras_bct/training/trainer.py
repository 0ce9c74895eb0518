"""Trains one version from a recipe and exports it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bct import models
from keras_bct.array_file import write_array
from keras_bct.data.training_batches import refuse_unknown_classes
from keras_bct.training.assembly import Assembly, assemble
from keras_bct.training.batches import training_batches
from keras_bct.training.checkpoint import Checkpoints
from keras_bct.training.course import Course
from keras_bct.training.criterion import Criterion
from keras_bct.training.early_stop import EarlyStop
from keras_bct.training.identity import identity
from keras_bct.training.inference import Inference
from keras_bct.training.last_step import LastStep
from keras_bct.training.networks import make_backbone
from keras_bct.training.old_angle import OldAngle
from keras_bct.training.old_classifier import old_classifier
from keras_bct.training.pictures import TrainingPictures
from keras_bct.training.recipe import Recipe
from keras_bct.training.scalars import Scalars
from keras_bct.training.strategy import Devices
from keras_bct.training.summary import Summary
from keras_bct.training.terms import terms

SIZE_MAP = "size_map.npy"
"""In `assets.extra` of a version with a learned linear map, `(d, d_old)` float32."""

SUMMARY = "summary.json"
"""In the work directory, when the version is there."""


def train(
    recipe: Recipe,
    patterns: Sequence[str],
    directory: str,
    *,
    predecessor: str | None = None,
    compression: str | None = None,
    log_directory: str | None = None,
    work_directory: str | None = None,
    progress: bool = True,
) -> Summary:
    """Trains a version on TFRecords and writes it as a SavedModel.

    The methods that need old embeddings run the old model, frozen, on the same
    augmented batch. With a work directory a training that was killed goes on from its
    last checkpoint when it is called again with the same arguments, and ends with the
    weights of an unbroken one. Under `multi-worker` every process calls it with the
    same arguments; the chief alone writes.

    Args:
        recipe: How to train.
        patterns: TFRecord patterns of the training pictures; their labels are the
            classes, in the order of their names.
        directory: Where the SavedModel goes; empty or not there yet.
        predecessor: Directory of the version to be compatible with; needed by every
            method but `independent`, which ignores it. None: the recipe's.
        compression: `GZIP` for the shards that TFX writes, or None.
        log_directory: Where TensorBoard scalars go, or None.
        work_directory: Where the checkpoint goes, which is removed at the end, and
            `summary.json`; None keeps none.
        progress: Whether a line is printed at every interval, and a bar shown while
            a large set is read.

    Returns:
        What was trained, and the logs of every interval.

    Raises:
        ValueError: The method needs a predecessor and there is none, there are no
            pictures, or they have one class only; the checkpoint is another
            training's.
        FileExistsError: `directory` holds something already.
    """
    started = time.monotonic()
    predecessor = _needed(recipe, predecessor)
    # Now, and not when the version is trained and has nowhere to go.
    if os.path.exists(directory) and os.listdir(directory):
        raise FileExistsError(
            f"`directory` should be empty or not there yet. Received: {directory}, "
            f"which holds {sorted(os.listdir(directory))[0]!r}; give another one"
        )
    if recipe.deterministic:
        tf.config.experimental.enable_op_determinism()
    # First, because several workers wait for each other here.
    devices = Devices(recipe)
    pictures = TrainingPictures(
        recipe,
        patterns,
        compression=compression,
        # One bar, where several workers may share a terminal.
        progress=progress and devices.is_chief,
    )
    class_names = pictures.class_names
    old = None if predecessor is None else old_classifier(recipe, predecessor, pictures)
    beside = () if old is None else terms(recipe, old)
    # Whether some term asks which classes the old model knows.
    asks_old = old is not None and any(term.samples != "all" for term in beside)
    if old is not None and asks_old:
        refuse_unknown_classes(class_names, old.class_names)
    course = Course.of(recipe, len(pictures))
    with devices.scope():
        made = assemble(recipe, len(class_names), old, beside, predecessor, course)

    embed = Inference(made.backbone, made.size_map)
    callbacks: list[keras.callbacks.Callback] = []
    if course.steps % course.interval:
        # Only there, because Keras waits for each step that a callback looks at.
        callbacks.append(LastStep(course))
    if old is not None:
        callbacks.append(OldAngle(embed, pictures, old))
    criterion = early_stop = None
    if recipe.criterion is not None and predecessor is not None and old is not None:
        size = recipe.embedding_size if made.size_map is None else old.embedding_size
        criterion = Criterion(recipe.criterion, predecessor, recipe.image_shape, size)
        criterion.watch(embed)
        callbacks.append(criterion)
        if recipe.criterion.patience is not None:
            early_stop = EarlyStop(recipe.criterion.patience)
            callbacks.append(early_stop)
    history: list[dict[str, float]] = []
    callbacks.append(
        keras.callbacks.LambdaCallback(
            on_epoch_end=lambda _, logs: history.append(
                {name: float(value) for name, value in logs.items()}
            )
        )
    )
    if log_directory is not None and devices.is_chief:
        metric = None if criterion is None else criterion.metric
        callbacks.append(Scalars(log_directory, course, metric))
    checkpoints = None
    depends: dict[str, Any] = {}
    if work_directory is not None:
        depends = identity(recipe, pictures, predecessor)
        checkpoints = Checkpoints(Path(work_directory), depends, history, early_stop)
        # The optimizer's variables are made here, each device's as the model's are.
        with devices.scope():
            checkpoints.take_up(made.model)
        if devices.is_chief:
            callbacks.append(checkpoints)
    done = len(history)
    if done < course.intervals and not (early_stop and early_stop.stopped):
        batches = training_batches(
            recipe,
            pictures,
            old_class_names=old.class_names if old is not None and asks_old else None,
            terms=beside,
            first_step=course.steps_after(done),
        )
        made.model.fit(
            batches,
            initial_epoch=done,
            epochs=course.intervals,
            steps_per_epoch=course.interval,
            verbose=2 if progress and devices.is_chief else 0,
            callbacks=callbacks,
        )
    if early_stop is not None:
        early_stop.restore_best(made.model)
    summary = Summary(
        recipe=recipe.digested(),
        identity=depends,
        method=recipe.method,
        directory=directory,
        classes=len(class_names),
        pictures=len(pictures),
        steps=course.steps_after(len(history)),
        seconds=round(time.monotonic() - started, 1),
        resumed_at=course.steps_after(done),
        stopped_early=early_stop is not None and early_stop.stopped,
        is_chief=devices.is_chief,
        history=tuple(history),
    )
    if devices.is_chief and checkpoints is None:
        _export(directory, recipe, made, class_names, summary)
    elif devices.is_chief and checkpoints is not None and work_directory is not None:
        # The version appears whole, when all else is there. Killed before, the
        # training goes on from the checkpoint of its end.
        unfinished = directory.rstrip("/") + ".unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        _export(unfinished, recipe, made, class_names, summary)
        summary.save(Path(work_directory, SUMMARY))
        os.rename(unfinished, directory)
        checkpoints.remove()
    return summary


def _needed(recipe: Recipe, predecessor: str | None) -> str | None:
    """Gives the predecessor that the method trains against, or refuses."""
    if recipe.method == "independent":
        return None
    predecessor = predecessor or recipe.predecessor
    if predecessor is None:
        raise ValueError(
            f"method {recipe.method!r} trains against a predecessor. Received: "
            "predecessor=None; train the first version with method 'independent'"
        )
    return predecessor


def _export(
    directory: str,
    recipe: Recipe,
    made: Assembly,
    class_names: Sequence[str],
    summary: Summary,
) -> None:
    backbone = made.backbone
    if recipe.strategy != "none":
        # Variables of one device, where the trained ones have a copy on each.
        backbone = make_backbone(recipe)
        backbone.set_weights(made.backbone.get_weights())
    models.export_version(
        directory,
        backbone,
        made.head.to_classifier(made.loss, class_names),
        training={
            "recipe": recipe.method,
            "steps": summary.steps,
            "seconds": summary.seconds,
            "loss": summary.last["loss"],
        },
    )
    if made.size_map is not None:
        write_array(
            Path(directory, "assets.extra", SIZE_MAP),
            keras.ops.convert_to_numpy(made.size_map.kernel),
        )
