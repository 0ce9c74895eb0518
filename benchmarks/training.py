"""What the terms of compatible training cost, as ratios within one run.

    python -m benchmarks.training [--json FILE] [--quick] [--only WORD] [--clock cpu]

The bare side is a step of plain CosFace training of the same network on the same batch.
All sides take their steps in turn and the best of each counts, so that a busy machine
disturbs them alike. The network, the batch and the number of classes are those of the
kanji recipe; the head's memory is measured at 100,000 classes of 512 components.

On a machine where other work is running take `--clock cpu`: processor time of the whole
process. It does not see an input pipeline that keeps a step waiting, so `input` needs
the wall clock and a machine of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.figures import (
    Figure,
    Parts,
    Runner,
    command_line,
    peak_above,
    print_figures,
)
from keras_bct import data, layers, losses, models
from keras_bct.classifier import Classifier
from keras_bct.data import glyphs, write_records
from keras_bct.data.glyph_records import to_records

COMPONENTS, CLASSES, OLD_CLASSES, BATCH = 64, 600, 300, 128
IMAGE_SHAPE = (32, 32, 1)
WIDTH, OLD_WIDTH = 20, 12
SCALE, MARGIN = 24.0, 0.3

LARGE_CLASSES, LARGE_COMPONENTS = 100_000, 512


def classifier(classes: int) -> Classifier:
    """An old classifier of the first characters, with rows at random."""
    rows = np.random.default_rng(0).normal(size=(classes, COMPONENTS))
    names = glyphs.load().split("train").characters[:classes]
    return Classifier("cosface", rows, names, scale=SCALE, margin=MARGIN)


def compiled(
    old: Classifier | None = None,
    *,
    distillation: bool = False,
    old_model: keras.Layer | None = None,
) -> keras.Model:
    """The compatible model of the kanji recipe, with the terms that are asked for."""
    model = models.compatible_model(
        models.glyph_network(COMPONENTS, WIDTH, seed=0),
        layers.CosineHead(CLASSES, seed=0),
        old,
        terms=["distillation"] if distillation else [],
        old_model=old_model,
    )
    terms: dict[str, keras.losses.Loss] = {
        "new": losses.CosFace(scale=SCALE, margin=MARGIN)
    }
    if old is not None:
        terms["old"] = losses.Influence(losses.for_classifier(old))
    if distillation:
        terms["distillation"] = losses.Distillation(losses.for_classifier(old))
    # What Keras calls "auto" is XLA, which takes twice as long on a CPU.
    model.compile(keras.optimizers.AdamW(1e-3), loss=terms, jit_compile=False)
    return model


def cached_batch(model: keras.Model, old_classes: int) -> tf.data.Dataset:
    """One batch for ever, with what the model reads of it."""
    random = np.random.default_rng(1)
    pictures = random.uniform(0, 255, (BATCH, *IMAGE_SHAPE)).astype("float32")
    new = random.integers(0, CLASSES, BATCH).astype("int32")
    labels = {
        "new": new,
        "old": np.where(new < old_classes, new, -1),
        "distillation": new,
    }
    old_embeddings = random.normal(size=(BATCH, COMPONENTS)).astype("float32")
    inputs: Any = pictures
    if len(model.inputs) > 1:
        inputs = {"image": pictures, "old_embedding": old_embeddings}
    targets = {name: labels[name] for name in model.output}
    batch = tf.data.Dataset.from_tensors((inputs, targets))
    return batch.cache().repeat().prefetch(4)


def stepping(
    model: keras.Model, batches: tf.data.Dataset, steps: int
) -> Callable[[], object]:
    """Some training steps of a model, as `fit` takes them."""
    model.fit(batches, steps_per_epoch=2, verbose=0)
    iterator = iter(batches)

    def run() -> None:
        for _ in range(steps):
            logs = model.train_function(iterator)
        # A step has ended when its loss can be read.
        float(logs["loss"])

    return run


def terms(run: Runner, steps: int) -> list[Figure]:
    """The steps of beta, beta-sys and beta-kd beside the plain one."""
    half, full = classifier(OLD_CLASSES), classifier(CLASSES)
    with tempfile.TemporaryDirectory() as directory:
        models.export_version(
            directory,
            models.glyph_network(COMPONENTS, OLD_WIDTH, seed=1),
            half,
            training={},
        )
        old_model = models.FrozenEmbedder(directory)
    pictures = tf.zeros((BATCH, *IMAGE_SHAPE))
    forward = tf.function(old_model.__call__)

    def old_forward() -> None:
        for _ in range(steps):
            embeddings = forward(pictures)
        embeddings.numpy()

    def side(old: Classifier | None = None, **options: Any) -> Callable[[], object]:
        model = compiled(old, **options)
        return stepping(model, cached_batch(model, old.classes if old else 0), steps)

    old_forward()
    plain, beta, beta_sys, stored, frozen, alone = run.best(
        side(),
        side(half),
        side(full),
        side(half, distillation=True),
        side(half, distillation=True, old_model=old_model),
        old_forward,
    )
    limit = 1 + alone / plain + 0.05
    return [
        Figure("beta / plain step", beta / plain, 1.05),
        Figure("beta-sys / plain step", beta_sys / plain, 1.05),
        Figure("beta-kd, stored old embeddings / plain step", stored / plain, 1.08),
        Figure("beta-kd, frozen old model / plain step", frozen / plain, limit),
    ]


def real_input(run: Runner, steps: int) -> list[Figure]:
    """A step of beta on augmented kanji from TFRecords beside a cached batch."""
    kanji = glyphs.load().split("train")
    old = classifier(OLD_CLASSES)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "train.tfrecord")
        write_records(file, to_records(kanji))
        batches = data.training_dataset(
            file,
            class_names=kanji.characters,
            old_class_names=old.class_names,
            image_shape=IMAGE_SHAPE,
            batch_size=BATCH,
            seed=0,
        )
        cached = compiled(old)
        read, held = run.best(
            stepping(compiled(old), batches, steps),
            stepping(cached, cached_batch(cached, OLD_CLASSES), steps),
        )
    return [Figure("step with real input / with a cached batch", read / held, 1.05)]


def memory(run: Runner, steps: int) -> list[Figure]:
    """The peak of a large head's training step, in a process of its own.

    In sizes of the rows: the rows, their momentum, their gradient, the rows at unit
    length with what their gradient passes through, and what is `(batch, classes)`, a
    quarter each.
    """
    script = f"from benchmarks.training import print_peak; print_peak({steps})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    rows = 4 * LARGE_CLASSES * LARGE_COMPONENTS
    name = (
        f"peak of CosFace at {LARGE_CLASSES:,} x {LARGE_COMPONENTS}, batch {BATCH}, "
        "SGD with momentum / its rows"
    )
    return [Figure(name, float(done.stdout) / rows, 9)]


def print_peak(steps: int) -> None:
    """Prints the bytes that some steps of a large head take, its weights included."""

    def fit(classes: int) -> None:
        model = keras.Sequential(
            [keras.Input((LARGE_COMPONENTS,)), layers.CosineHead(classes)]
        )
        model.compile(
            keras.optimizers.SGD(0.1, momentum=0.9),
            loss=losses.CosFace(scale=SCALE, margin=MARGIN),
            jit_compile=False,
        )
        random = np.random.default_rng(0)
        embeddings = random.normal(size=(BATCH, LARGE_COMPONENTS)).astype("float32")
        labels = random.integers(0, classes, BATCH)
        model.fit(embeddings, labels, batch_size=BATCH, epochs=steps, verbose=0)

    # What TensorFlow itself takes is no part of the head.
    fit(100)
    print(peak_above(lambda: fit(LARGE_CLASSES)))


PARTS: Parts = {
    "terms": (terms, 20, 2),
    "input": (real_input, 20, 2),
    "memory": (memory, 3, 1),
}


def main() -> int:
    """Runs the benchmark; 1 where a figure does not keep its limit."""
    arguments = command_line(__doc__, PARTS, repeats=10).parse_args()
    return print_figures(PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
